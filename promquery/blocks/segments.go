package blocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/fileutil"

	own "github.com/promcost/promcost/promquery/chunks"
)

// segments reads chunks from the segment files of a block, from mappings of them. Nothing that it returns may outlive it.
// See Prometheus' tsdb/docs/format/chunks.md.
type segments struct {
	files []*fileutil.MmapFile
}

// openSegments opens the chunk files of the block in dir, in the order of their names.
func openSegments(dir string) (*segments, error) {
	dir = filepath.Join(dir, "chunks")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list chunk files: %w", err)
	}
	s := &segments{}
	for _, e := range entries {
		file, err := fileutil.OpenMmapFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open chunk file: %w", err), s.close())
		}
		s.files = append(s.files, file)
		if b := file.Bytes(); len(b) < chunks.SegmentHeaderSize || binary.BigEndian.Uint32(b) != chunks.MagicChunks || b[4] != 1 {
			return nil, errors.Join(fmt.Errorf("open chunk file %s: %w: not version 1", e.Name(), errMalformed), s.close())
		}
	}
	return s, nil
}

func (s *segments) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// chunk is the encoding and the data of a chunk, its checksum verified. The capacity of the data reaches into what follows it in the
// file, to which nobody writes.
func (s *segments) chunk(ref uint64) (enc chunkenc.Encoding, data []byte, err error) {
	file, offset := ref>>32, ref&(1<<32-1)
	if file >= uint64(len(s.files)) {
		return 0, nil, fmt.Errorf("%w: chunk in file %d of %d", errMalformed, file+1, len(s.files))
	}
	b := s.files[file].Bytes()
	if offset >= uint64(len(b)) {
		return 0, nil, fmt.Errorf("%w: chunk at %d is beyond its file", errMalformed, offset)
	}
	enc, data, err = DecodeChunk(b[offset:])
	if err != nil {
		return 0, nil, fmt.Errorf("chunk at %d: %w", offset, err)
	}
	return enc, data, nil
}

// ChunkSize is how many bytes the chunk takes that b begins with, as chunk files have it. It is 0 if b does not show that.
func ChunkSize(b []byte) int64 {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > math.MaxInt32 {
		return 0
	}
	return int64(n+1) + int64(size) + crc32.Size
}

// DecodeChunk is the encoding and the data of the chunk that b begins with, as chunk files have it, its checksum verified. The capacity of the
// data reaches into what follows the chunk.
func DecodeChunk(b []byte) (enc chunkenc.Encoding, data []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size >= uint64(len(b)-n) {
		return 0, nil, fmt.Errorf("%w: it is longer than its file", errMalformed)
	}
	end := n + 1 + int(size)
	if !sealed(b[n:end], b[end:]) {
		return 0, nil, fmt.Errorf("%w: checksum", errMalformed)
	}
	return chunkenc.Encoding(b[n]), b[n+1 : end : min(end+own.Padding, len(b))], nil
}
