/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for in which context: known after it was remembered, by that handle, question and context alone; and no
 * more once others were told to forget, whoever remembers late. */
#include "shim/cuda/loaded.h"

#include "../stream/check.h"

#define MANY 20000u

int main(void)
{
    static char a, b;
    uint64_t mark = xs_loaded_mark(64, 1, &a), late;
    unsigned known = 0;

    TRUE(mark && !xs_loaded_known(mark));
    xs_loaded_remember(mark);
    xs_loaded_remember(mark);
    TRUE(xs_loaded_known(xs_loaded_mark(64, 1, &a)));
    TRUE(!xs_loaded_known(xs_loaded_mark(64, 1, &b)));
    TRUE(!xs_loaded_known(xs_loaded_mark(64, 2, &a)));
    TRUE(!xs_loaded_known(xs_loaded_mark(128, 1, &a)));

    /* without a handle or a context nothing is known, nor remembered */
    TRUE(xs_loaded_mark(0, 1, &a) == 0 && xs_loaded_mark(64, 1, NULL) == 0);
    xs_loaded_remember(0);
    TRUE(!xs_loaded_known(0));

    late = xs_loaded_mark(192, 1, &a);
    xs_loaded_forget();
    xs_loaded_remember(late);
    TRUE(!xs_loaded_known(xs_loaded_mark(64, 1, &a)) && !xs_loaded_known(xs_loaded_mark(192, 1, &a)));

    /* more than there is room for: some are not known, and nothing else is */
    xs_loaded_forget();
    for (unsigned i = 1; i <= MANY; i++)
        xs_loaded_remember(xs_loaded_mark(i * 64, 1, &a));
    for (unsigned i = 1; i <= MANY; i++) {
        known += xs_loaded_known(xs_loaded_mark(i * 64, 1, &a));
        TRUE(!xs_loaded_known(xs_loaded_mark(i * 64, 1, &b)));
    }
    printf("%u of %u are known\n", known, MANY);
    TRUE(known > 3000 && known <= 4096);
    xs_loaded_forget();
    for (unsigned i = 1; i <= MANY; i++)
        TRUE(!xs_loaded_known(xs_loaded_mark(i * 64, 1, &a)));
    known = 0;
    for (unsigned i = 1; i <= 1000; i++) /* and there is room again */
        xs_loaded_remember(xs_loaded_mark(i * 64, 1, &a));
    for (unsigned i = 1; i <= 1000; i++)
        known += xs_loaded_known(xs_loaded_mark(i * 64, 1, &a));
    TRUE(known > 980);
    return 0;
}
