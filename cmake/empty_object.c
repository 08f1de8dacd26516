/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a shared object of 32 bits (i386) that defines nothing and needs nothing: empty_object FILE. It takes the place of a
 * shim in programs of that word size (XsWords.cmake). No compiler for 32 bits is needed. */
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { HASH, STRTAB, SYMTAB, STRSZ, SYMENT, END, ENTRIES };

struct object {
    Elf32_Ehdr header;
    Elf32_Phdr segments[3];
    Elf32_Dyn dynamic[ENTRIES];
    Elf32_Sym symbols[1];         /* the first one names nothing */
    Elf32_Word hash[4];           /* a bucket and a chain, both empty */
    char strings[4];
};

#define AT(member) ((Elf32_Addr)offsetof(struct object, member))

int main(int argc, char **argv)
{
    struct object o;
    FILE *f;

    if (argc != 2 || !(f = fopen(argv[1], "wb"))) {
        fprintf(stderr, "usage: empty_object FILE\n");
        return 1;
    }
    memset(&o, 0, sizeof(o));
    memcpy(o.header.e_ident, ELFMAG, SELFMAG);
    o.header.e_ident[EI_CLASS] = ELFCLASS32;
    o.header.e_ident[EI_DATA] = ELFDATA2LSB;
    o.header.e_ident[EI_VERSION] = EV_CURRENT;
    o.header.e_type = ET_DYN;
    o.header.e_machine = EM_386;
    o.header.e_version = EV_CURRENT;
    o.header.e_phoff = AT(segments);
    o.header.e_ehsize = sizeof(o.header);
    o.header.e_phentsize = sizeof(o.segments[0]);
    o.header.e_phnum = 3;
    o.segments[0] = (Elf32_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(o), .p_memsz = sizeof(o), .p_flags = PF_R | PF_W,
                                 .p_align = 0x1000};
    o.segments[1] = (Elf32_Phdr){.p_type = PT_DYNAMIC, .p_offset = AT(dynamic), .p_vaddr = AT(dynamic), .p_paddr = AT(dynamic),
                                 .p_filesz = sizeof(o.dynamic), .p_memsz = sizeof(o.dynamic), .p_flags = PF_R | PF_W,
                                 .p_align = 4};
    /* else the dynamic linker makes the stack executable */
    o.segments[2] = (Elf32_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
    o.dynamic[HASH] = (Elf32_Dyn){DT_HASH, {AT(hash)}};
    o.dynamic[STRTAB] = (Elf32_Dyn){DT_STRTAB, {AT(strings)}};
    o.dynamic[SYMTAB] = (Elf32_Dyn){DT_SYMTAB, {AT(symbols)}};
    o.dynamic[STRSZ] = (Elf32_Dyn){DT_STRSZ, {sizeof(o.strings)}};
    o.dynamic[SYMENT] = (Elf32_Dyn){DT_SYMENT, {sizeof(o.symbols[0])}};
    o.hash[0] = o.hash[1] = 1;
    if (fwrite(&o, sizeof(o), 1, f) != 1 || fclose(f) != 0) {
        perror(argv[1]);
        return 1;
    }
    return 0;
}
