package bucket

import (
	"encoding/binary"
	"hash/crc32"

	tsdbindex "github.com/prometheus/prometheus/tsdb/index"
)

// sealedSection is a section of an index with its length and its checksum.
func sealedSection(content []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	return binary.BigEndian.AppendUint32(append(b, content...), crc32.Checksum(content, castagnoli))
}

// DecodeIndex decodes the parts of an index whose checksums hold: its symbols, its table of postings, a list of them and a series' entry. It returns
// where the entries are that the list names, and how many chunks the entry has.
func DecodeIndex(symbols, table, postings, entry []byte) (entries []int64, chunks int, err error) {
	head := binary.BigEndian.AppendUint32(nil, tsdbindex.MagicIndex)
	head = append(append(head, tsdbindex.FormatV2), sealedSection(symbols)...)
	x, err := newIndex(head, tsdbindex.HeaderLen, sealedSection(table))
	if err != nil {
		return nil, 0, err
	}
	refs, err := appendRefs(nil, sealedSection(postings), 0)
	for _, r := range refs {
		entries = append(entries, r.from)
	}
	if err != nil {
		return entries, 0, err
	}
	sealed := append(binary.AppendUvarint(nil, uint64(len(entry))), entry...)
	_, list, err := newDecoder(x).entry(binary.BigEndian.AppendUint32(sealed, crc32.Checksum(entry, castagnoli)))
	return entries, len(list), err
}
