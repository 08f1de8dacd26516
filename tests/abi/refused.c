/* SPDX-License-Identifier: Apache-2.0 */
/* An object that may not link: each -DUSE_... takes one thing that preloaded objects must not. */
int xs_refused(int n);

#if defined(USE_STDIO)
int puts(const char *);
int xs_refused(int n)
{
    return puts("x") + n;
}
#elif defined(USE_EXIT)
void exit(int);
int xs_refused(int n)
{
    exit(n);
    return n;
}
#elif defined(USE_PROTECTOR)
void xs_other(char *);
int xs_refused(int n)
{
    char text[64];

    __builtin_memset(text, n, sizeof(text));
    __asm__ volatile("" : : "r"(text) : "memory");
    return text[n & 63];
}
#elif defined(USE_TLS)
__thread int xs_thread_word;
int xs_refused(int n)
{
    return xs_thread_word += n;
}
#else
int xs_refused(int n)
{
    return n;
}
#endif
