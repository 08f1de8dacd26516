/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's control program of MPS as XSched uses it: a daemon that answers in its pipe folder, and says what happens to it.
 *
 * FAKE_MPS_EVENTS: a file that gets a line for each start, each end and each terminate_client, with whether that one lived.
 * FAKE_MPS_REFUSE: -d fails with this text. In the pipe folder, by the test: "server" has the number of a first server, without
 * programs; "clients" has the processes that the other one serves, a line each (those that live count); "fault" says that
 * it stands after a fault, and goes with the daemon. From the daemon: "devices" has the CUDA_VISIBLE_DEVICES that it was started
 * with, by which the fake driver counts (tests/fakes/cuda/visible.c). */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un g_control = {.sun_family = AF_UNIX};

__attribute__((format(printf, 1, 2))) static void event(const char *format, ...)
{
    const char *path = getenv("FAKE_MPS_EVENTS");
    FILE *f = path ? fopen(path, "a") : NULL;
    va_list args;

    if (!f)
        return;
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

static const char *in_folder(const char *name)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "/tmp/nvidia-mps", name);
    return path;
}

/* @param ret_fd  of a daemon that is there */
static bool find_daemon(int *ret_fd)
{
    *ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(*ret_fd, (struct sockaddr *)&g_control, sizeof(g_control)) == 0)
        return true;
    close(*ret_fd);
    return false;
}

static void list_clients(FILE *to)
{
    FILE *f = fopen(in_folder("clients"), "r");
    char path[64];
    int pid;

    while (f && fscanf(f, "%d", &pid) == 1) {
        snprintf(path, sizeof(path), "/proc/%d", pid);
        if (access(path, F_OK) == 0)
            fprintf(to, "%d\n", pid);
    }
    if (f)
        fclose(f);
}

/* It is there and no zombie. */
static bool lives(int pid)
{
    char path[64], state = 'Z';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    fclose(f);
    return state != 'Z' && state != 'X';
}

/* Another server, whose number the test says; 0: none. */
static int first_server(void)
{
    FILE *f = fopen(in_folder("server"), "r");
    int n = 0;

    if (f && fscanf(f, "%d", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    return n;
}

/* @return false: it is to end */
static bool obey(int fd)
{
    char command[256] = "";
    ssize_t n = read(fd, command, sizeof(command) - 1);
    FILE *to = fdopen(fd, "r+");
    int server, pid;

    (void)n;
    setbuf(to, NULL);
    if (strncmp(command, "get_server_list", 15) == 0) {
        if (first_server())
            fprintf(to, "%d\n", first_server());
        fprintf(to, "%d\n", (int)getpid());
    } else if (strncmp(command, "get_client_list", 15) == 0) {
        if (!first_server() || atoi(command + 15) != first_server())
            list_clients(to);
    }
    if (strncmp(command, "get_server_status", 17) == 0)
        fputs(access(in_folder("fault"), F_OK) == 0 ? "FAULT\n" : "ACTIVE\n", to);
    else if (sscanf(command, "terminate_client %d %d", &server, &pid) == 2)
        event("terminate_client %d %d %s\n", server, pid, lives(pid) ? "alive" : "gone");
    fclose(to);
    return strncmp(command, "quit", 4) != 0;
}

static int serve(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
    const char *device = getenv("CUDA_VISIBLE_DEVICES");
    FILE *f;

    unlink(in_folder("devices"));
    f = device ? fopen(in_folder("devices"), "w") : NULL;
    if (f) {
        fprintf(f, "%s\n", device);
        fclose(f);
    }
    unlink(g_control.sun_path);
    if (bind(listener, (struct sockaddr *)&g_control, sizeof(g_control)) < 0 || listen(listener, 64) < 0) {
        perror(g_control.sun_path);
        return 1;
    }
    event("start %s\n", device ? device : "None");
    if (fork())
        return 0;                /* who started it goes on when it listens */
    setsid();
    f = fopen(in_folder("nvidia-cuda-mps-control.pid"), "w");
    if (f) {
        fprintf(f, "%d\n", (int)getpid());
        fclose(f);
    }
    fd = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    do
        fd = accept(listener, NULL, NULL);
    while (fd < 0 || obey(fd));
    event("quit\n");
    unlink(g_control.sun_path);
    unlink(in_folder("nvidia-cuda-mps-control.pid"));
    unlink(in_folder("fault"));
    return 0;
}

int main(int argc, char **argv)
{
    char text[8192];
    ssize_t n;
    int fd;

    if (strlen(in_folder("control")) >= sizeof(g_control.sun_path))
        return 1;
    strcpy(g_control.sun_path, in_folder("control"));
    if (argc > 1 && strcmp(argv[1], "-d") == 0) {
        if (getenv("FAKE_MPS_REFUSE")) {
            puts(getenv("FAKE_MPS_REFUSE"));
            return 1;
        }
        if (!find_daemon(&fd))
            return serve();
        puts("An instance of this daemon is already running");
        return 1;
    }
    while (fgets(text, sizeof(text), stdin)) {
        if (!find_daemon(&fd)) {
            puts("Cannot find MPS control daemon process");
            return 1;
        }
        if (write(fd, text, strlen(text)) < 0)
            return 1;
        shutdown(fd, SHUT_WR);
        while ((n = read(fd, text, sizeof(text) - 1)) > 0)
            fwrite(text, 1, (size_t)n, stdout);
        close(fd);
    }
    return 0;
}
