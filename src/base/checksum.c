/* checksum.c - see checksum.h. */
#include "base/checksum.h"

uint64_t fa_checksum_bytes(uint64_t sum, struct fa_bytes bytes)
{
    uint64_t word;

    sum = fa_checksum_word(sum, bytes.len);
    for (; bytes.len >= sizeof(word); bytes.ptr += sizeof(word), bytes.len -= sizeof(word)) {
        memcpy(&word, bytes.ptr, sizeof(word));
        sum = fa_checksum_word(sum, word);
    }
    word = 0;
    if (bytes.len > 0)
        memcpy(&word, bytes.ptr, bytes.len);
    return fa_checksum_word(sum, word);
}
