/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "launcher/elf.h"
#include "launcher/preload.h"
#include "launcher/program.h"
#include "query/listening.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/xsched-launcher-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][PATH_MAX];
    static unsigned next;
    char *p = path[next++ % 4];

    snprintf(p, PATH_MAX, "%s/%s", folder, name);
    return p;
}

static void write_file(const char *path, const void *data, size_t bytes, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[PATH_MAX];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void expect_list(const char *expected, const char *const *ours, size_t count, const char *old)
{
    char *got = xs_list_join(ours, count, old, " :", ':');

    assert_non_null(got);
    assert_string_equal(got, expected);
    free(got);
}

static void lists_are_joined_without_duplicates(void **state)
{
    const char *ours[] = {"/a/x.so", "/a/y.so"};
    const char *file, *link, *one[1];
    char expected[2 * PATH_MAX], old[2 * PATH_MAX];

    (void)state;
    expect_list("/a/x.so:/a/y.so", ours, 2, NULL);
    expect_list("/a/x.so:/a/y.so", ours, 2, "");
    expect_list("/a/x.so:/a/y.so", ours, 2, " : :");
    expect_list("libasan.so:/a/x.so:/a/y.so", ours, 2, "libasan.so");
    expect_list("/b.so:/a/y.so:/a/x.so", ours, 2, "/b.so /a/y.so:/b.so");
    expect_list("/a/x.so:/a/y.so", ours, 2, "/a/x.so:/a/y.so /a/x.so:/a/y.so");
    expect_list("", ours, 0, "");
    /* another name of the same file */
    file = in_folder("real.so");
    link = in_folder("link.so");
    write_file(file, "x", 1, 0600);
    assert_int_equal(symlink(file, link), 0);
    one[0] = file;
    snprintf(old, sizeof(old), "/other.so:%s", link);
    snprintf(expected, sizeof(expected), "/other.so:%s", link);
    expect_list(expected, one, 1, old);
}

static void expect_layer(const struct xs_layer *layer, const char *old, const char *kept, const char *expected,
                         const char *expected_kept)
{
    char *got_kept, *got = xs_layer_join(layer, old, kept, &got_kept);

    assert_non_null(got);
    assert_string_equal(got, expected);
    assert_string_equal(got_kept ? got_kept : "unchanged", expected_kept);
    free(got);
    free(got_kept);
}

/* What the user names is stood for, each entry by one of ours; what cannot be opened stays, and nothing else is added. */
static void a_users_drivers_are_stood_for(void **state)
{
    struct xs_layer layer = {"V", "/x/libxsched-a.so,/x/libxsched-b.so", "K", "/x/libxsched-n0.so,/x/libxsched-n1.so", ',',
                             false};
    char one[PATH_MAX], two[PATH_MAX], old[4 * PATH_MAX], expected[4 * PATH_MAX], kept[4 * PATH_MAX];

    (void)state;
    snprintf(one, sizeof(one), "%s", in_folder("one.so"));
    snprintf(two, sizeof(two), "%s", in_folder("two.so"));
    write_file(one, "x", 1, 0600);
    write_file(two, "y", 1, 0600);
    expect_layer(&layer, NULL, NULL, layer.value, "unchanged");
    expect_layer(&layer, ",", "stale", layer.value, "unchanged");
    expect_layer(&layer, layer.value, NULL, layer.value, "unchanged");
    expect_layer(&layer, one, NULL, "/x/libxsched-n0.so", one);
    expect_layer(&layer, one, "stale", "/x/libxsched-n0.so", one);
    snprintf(old, sizeof(old), "%s,%s", two, one);
    expect_layer(&layer, old, NULL, "/x/libxsched-n0.so,/x/libxsched-n1.so", old);
    /* what is there from a run around this one */
    expect_layer(&layer, "/x/libxsched-n0.so", one, "/x/libxsched-n0.so", "unchanged");
    snprintf(old, sizeof(old), "/x/libxsched-n0.so,%s", two);
    snprintf(kept, sizeof(kept), "%s,%s", one, two);
    expect_layer(&layer, old, one, "/x/libxsched-n0.so,/x/libxsched-n1.so", kept);
    snprintf(old, sizeof(old), "/x/libxsched-n0.so,%s", one);
    expect_layer(&layer, old, one, "/x/libxsched-n0.so", "unchanged");
    snprintf(old, sizeof(old), "%s,%s", layer.value, one);
    expect_layer(&layer, old, NULL, "/x/libxsched-n0.so", one);
    /* not there, and more than can be stood for */
    expect_layer(&layer, "/none.so", NULL, "/none.so", "unchanged");
    expect_layer(&layer, "libnone-such.so.9", NULL, "libnone-such.so.9", "unchanged");
    snprintf(old, sizeof(old), "/none.so,%s,%s,/bin/sh", one, two);
    snprintf(kept, sizeof(kept), "%s,%s", one, two);
    expect_layer(&layer, old, NULL, "/none.so,/x/libxsched-n0.so,/x/libxsched-n1.so,/bin/sh", kept);
    /* a variable without such entries is a list as any other */
    layer.kept[0] = layer.instead[0] = 0;
    snprintf(expected, sizeof(expected), "%s,%s", one, layer.value);
    expect_layer(&layer, one, NULL, expected, "unchanged");
    layer = (struct xs_layer){"V", "0", "", "", '!', false};
    expect_layer(&layer, "1", NULL, "0", "unchanged");
    layer = (struct xs_layer){"V", "/x", "", "", ':', true};
    expect_layer(&layer, NULL, NULL, "", "unchanged");
    expect_layer(&layer, "", NULL, "/x", "unchanged");
    expect_layer(&layer, "/y", NULL, "/y:/x", "unchanged");
    expect_layer(&layer, "/y:/x", NULL, "/y:/x", "unchanged");
}

/* As the dynamic linker finds it: here by its cache, which has the name at the end of a path. */
static void libraries_are_found(void **state)
{
    (void)state;
    assert_true(xs_library_is_installed("libc.so.6"));
    assert_false(xs_library_is_installed("c.so.6"));
    assert_false(xs_library_is_installed("libc.so."));
    assert_false(xs_library_is_installed("libc.so.600"));
}

/* The shim of LIBDIR makes place for the one of LIBDIR/xsched. */
static void a_shim_by_path_is_replaced(void **state)
{
    char ours_path[PATH_MAX], by_path[PATH_MAX], other[PATH_MAX], old[4 * PATH_MAX], expected[4 * PATH_MAX];
    const char *one[] = {ours_path};

    (void)state;
    snprintf(other, sizeof(other), "%s", in_folder("lib"));
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(mkdir(in_folder("lib/xsched"), 0700), 0);
    snprintf(ours_path, sizeof(ours_path), "%s", in_folder("lib/xsched/libshimcuda.so"));
    snprintf(by_path, sizeof(by_path), "%s", in_folder("lib/libshimcuda.so"));
    snprintf(other, sizeof(other), "%s", in_folder("lib/libshimhip.so"));
    write_file(ours_path, "x", 1, 0600);
    write_file(by_path, "x", 1, 0600);
    write_file(other, "x", 1, 0600);
    snprintf(old, sizeof(old), "/b.so:%s:%s", by_path, other);
    snprintf(expected, sizeof(expected), "/b.so:%s:%s", ours_path, other);
    expect_list(expected, one, 1, old);
    snprintf(old, sizeof(old), "%s:/b.so:%s", by_path, ours_path);
    snprintf(expected, sizeof(expected), "%s:/b.so", ours_path);
    expect_list(expected, one, 1, old);
    snprintf(old, sizeof(old), "%s:%s:libshimcuda.so", by_path, by_path);
    snprintf(expected, sizeof(expected), "%s:libshimcuda.so", ours_path);
    expect_list(expected, one, 1, old);
}

static void elf_facts_of_this_program(void **state)
{
    struct xs_elf elf;
    bool libc = false;

    (void)state;
    assert_int_equal(xs_elf_read("/proc/self/exe", &elf), 0);
    assert_true(elf.is_elf && elf.is_64 && elf.has_interp && elf.has_dynamic && !elf.foreign);
    for (size_t i = 0; i < elf.needed_count; i++)
        libc |= strcmp(elf.needed[i], "libc.so.6") == 0;
    assert_true(libc);
}

static void elf_of_nonsense(void **state)
{
    unsigned char data[512];
    struct xs_elf elf;
    const char *path = in_folder("nonsense");

    (void)state;
    assert_int_equal(xs_elf_read(in_folder("absent"), &elf), -ENOENT);
    assert_true(xs_elf_read(folder, &elf) < 0);
    write_file(path, "", 0, 0700);
    assert_int_equal(xs_elf_read(path, &elf), 0);
    assert_false(elf.is_elf);
    /* A true head followed by every byte: whatever is read, nothing outside of the file is. */
    for (unsigned fill = 0; fill < 256; fill++) {
        int fd = open("/proc/self/exe", O_RDONLY);

        memset(data, (int)fill, sizeof(data));
        assert_true(fd >= 0 && read(fd, data, 20) == 20);
        close(fd);
        write_file(path, data, sizeof(data), 0700);
        assert_int_equal(xs_elf_read(path, &elf), 0);
        assert_true(elf.is_elf);
        write_file(path, data, 20, 0700);
        assert_int_equal(xs_elf_read(path, &elf), 0);
    }
}

static void elf_tables_cut_short(void **state)
{
    static unsigned char data[1 << 16];
    struct xs_elf elf;
    const char *path = in_folder("cut");
    int fd = open("/proc/self/exe", O_RDONLY);
    ssize_t n = read(fd, data, sizeof(data));

    (void)state;
    close(fd);
    assert_true(n > 4096);
    for (ssize_t cut = 0; cut < n; cut += 997) {
        write_file(path, data, (size_t)cut, 0700);
        assert_int_equal(xs_elf_read(path, &elf), 0);
    }
}

static void programs_are_judged(void **state)
{
    /* enough of a 32-bit head */
    static const unsigned char elf32[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
    const char *path = in_folder("p32"), *script = in_folder("script"), *loop = in_folder("loop");
    char text[PATH_MAX + 8], judged[PATH_MAX];

    (void)state;
    assert_int_equal(xs_program_check("/proc/self/exe", NULL, 0), XS_PROGRAM_FINE);
    write_file(path, elf32, sizeof(elf32), 0755);
    assert_int_equal(xs_program_check(path, NULL, 0), XS_PROGRAM_FOREIGN);
    snprintf(text, sizeof(text), "#! %s -x\n", path);
    write_file(script, text, strlen(text), 0755);
    assert_int_equal(xs_program_check(script, judged, sizeof(judged)), XS_PROGRAM_FOREIGN);
    assert_string_equal(judged, path);
    snprintf(text, sizeof(text), "#!%s\n", loop);
    write_file(loop, text, strlen(text), 0755);
    assert_int_equal(xs_program_check(loop, NULL, 0), XS_PROGRAM_FINE);
    write_file(script, "echo\n", 5, 0755);
    assert_int_equal(xs_program_check(script, NULL, 0), XS_PROGRAM_FINE);
    write_file(script, "echo\n", 5, 02755);
    assert_int_equal(xs_program_check(script, NULL, 0), XS_PROGRAM_FINE); /* our own group */
    if (geteuid() == 0) {
        assert_int_equal(chown(script, 1, 1), 0);
        assert_int_equal(chmod(script, 04755), 0);
        assert_int_equal(xs_program_check(script, NULL, 0), XS_PROGRAM_PRIVILEGED);
    }
}

/* The dynamic linker of this program. @return false: none is mapped */
static bool find_linker(char *ret, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[PATH_MAX];
    bool found = false;

    while (maps && !found && fgets(line, sizeof(line), maps)) {
        char *path = strchr(line, '/'), *name = strrchr(line, '/');

        line[strcspn(line, "\n")] = 0;
        found = name && strncmp(name, "/ld-", 4) == 0 && xs_str_copy(ret, size, path);
    }
    if (maps)
        fclose(maps);
    return found;
}

/* As one command, as the user writes it. */
static enum xs_program_issue judge(const char *linker, const char *a, const char *b, const char *c,
                                   char *ret_judged)
{
    char *argv[] = {(char *)(uintptr_t)linker, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    (char *)(uintptr_t)c, NULL};

    return xs_program_check_command(argv, linker, ret_judged, PATH_MAX);
}

/* It is no static program, and what it runs may be one. */
static void what_the_dynamic_linker_runs_is_judged(void **state)
{
    static const unsigned char elf32[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
    unsigned char alone[64]; /* the head of this program: without segments there is no interpreter */
    const char *foreign = in_folder("p32"), *static_ = in_folder("static");
    char linker[PATH_MAX], judged[PATH_MAX];
    int fd = open("/proc/self/exe", O_RDONLY);

    (void)state;
    if (!find_linker(linker, sizeof(linker)))
        skip();
    assert_int_equal(read(fd, alone, sizeof(alone)), (ssize_t)sizeof(alone));
    close(fd);
    memset(alone + 32, 0, 8); /* e_phoff */
    memset(alone + 56, 0, 2); /* e_phnum */
    write_file(static_, alone, sizeof(alone), 0755);
    write_file(foreign, elf32, sizeof(elf32), 0755);
    assert_int_equal(xs_program_check(static_, NULL, 0), XS_PROGRAM_STATIC);
    assert_int_equal(xs_program_check(linker, NULL, 0), XS_PROGRAM_FINE);
    assert_int_equal(xs_program_check_running(linker, false), XS_PROGRAM_FINE);
    assert_int_equal(judge(linker, "/proc/self/exe", NULL, NULL, judged), XS_PROGRAM_FINE);
    assert_int_equal(judge(linker, "--library-path", "/x", "/proc/self/exe", judged), XS_PROGRAM_FINE);
    assert_int_equal(judge(linker, "--library-path", "/x", foreign, judged), XS_PROGRAM_FOREIGN);
    assert_string_equal(judged, foreign);
    assert_int_equal(judge(linker, "--inhibit-cache", foreign, NULL, judged), XS_PROGRAM_FOREIGN);
    assert_int_equal(judge(linker, "--", static_, NULL, judged), XS_PROGRAM_STATIC);
    assert_string_equal(judged, static_);
    assert_int_equal(judge(linker, "--list", foreign, NULL, judged), XS_PROGRAM_FINE);
    assert_int_equal(judge(linker, "--argv0", NULL, NULL, judged), XS_PROGRAM_FINE);
    assert_int_equal(judge(linker, NULL, NULL, NULL, judged), XS_PROGRAM_FINE);
    assert_int_equal(judge("/proc/self/exe", foreign, NULL, NULL, judged),
                     XS_PROGRAM_FINE); /* its argument, no program */
}

static void servers_are_listed(void **state)
{
    static const char text[] =
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "00000000: 00000002 00000000 00010000 0005 01 1 /run/user/1001/xsched/xserver.sock\n"
        "00000000: 00000002 00000000 00010000 0005 01 2 /tmp/xsched-1002/xserver.sock\n"
        "00000000: 00000002 00000000 00010000 0005 01 3 /srv/with a space/own.sock\n"
        "00000000: 00000002 00000000 00010000 0001 01 4 /srv/with a space/own.http.sock\n"
        "00000000: 00000002 00000000 00010000 0005 01 5 /run/udev/control\n"
        "00000000: 00000003 00000000 00000000 0005 03 6 /srv/connected/xserver.sock\n"
        "00000000: 00000002 00000000 00010000 0001 01 7 /srv/stream/xserver.sock\n"
        "00000000: 00000002 00000000 00010000 0005 01 8 @/srv/abstract/xserver.sock\n"
        "00000000: 00000002 00000000 00010000 0005 01 9\n";
    const struct xs_listening *other;
    struct xs_listening list[XS_LISTENING_MAX];
    const char *file = in_folder("unix");

    (void)state;
    write_file(file, text, strlen(text), 0600);
    assert_int_equal(xs_listening(file, list), 3);
    assert_string_equal(list[0].path, "/run/user/1001/xsched/xserver.sock");
    assert_true(list[0].uid_known && list[0].uid == 1001);
    assert_true(list[1].uid_known && list[1].uid == 1002);
    assert_string_equal(list[2].path, "/srv/with a space/own.sock");
    assert_false(list[2].uid_known);
    assert_ptr_equal(xs_listening_of_others(list, 3, "/x", 1001), &list[1]);
    assert_ptr_equal(xs_listening_of_others(list, 3, list[0].path, 0), &list[1]);
    other = xs_listening_of_others(list, 2, list[1].path, 1001);
    assert_null(other);
    assert_int_equal(xs_listening(in_folder("none"), list), 0);
}

static void programs_are_found(void **state)
{
    char path[PATH_MAX];
    const char *old = getenv("PATH");
    char *saved = strdup(old ? old : "");

    (void)state;
    write_file(in_folder("plain"), "", 0, 0600);
    write_file(in_folder("tool"), "", 0, 0755);
    setenv("PATH", in_folder(""), 1);
    assert_int_equal(xs_program_find("tool", path, sizeof(path)), 0);
    assert_int_equal(xs_program_find("plain", path, sizeof(path)), -EACCES);
    assert_int_equal(xs_program_find("none", path, sizeof(path)), -ENOENT);
    assert_int_equal(xs_program_find("", path, sizeof(path)), -ENOENT);
    assert_int_equal(xs_program_find(in_folder("tool"), path, sizeof(path)), 0);
    assert_int_equal(xs_program_find(folder, path, sizeof(path)), -EACCES);
    setenv("PATH", saved, 1);
    free(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_joined_without_duplicates),
        cmocka_unit_test(a_shim_by_path_is_replaced),
        cmocka_unit_test(a_users_drivers_are_stood_for),
        cmocka_unit_test(libraries_are_found),
        cmocka_unit_test(elf_facts_of_this_program),
        cmocka_unit_test(elf_of_nonsense),
        cmocka_unit_test(elf_tables_cut_short),
        cmocka_unit_test(programs_are_judged),
        cmocka_unit_test(what_the_dynamic_linker_runs_is_judged),
        cmocka_unit_test(programs_are_found),
        cmocka_unit_test(servers_are_listed),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
