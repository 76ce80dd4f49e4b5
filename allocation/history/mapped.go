package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/edsrzf/mmap-go"
)

// mapped is a file as the system has it in memory. Its bytes are there as long as it is reachable. To read them while somebody
// cuts the file, or the disk fails, is a fault.
type mapped struct{ data mmap.MMap }

// mapFile maps a file into memory. Files do not change once they have their name, so their data need not be copied and takes
// no memory of the process. A file that cannot be mapped is read.
func (d *Directory) mapFile(name string) (data []byte, owner any, err error) {
	path := filepath.Clean(d.path(name))
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read history: %w", err)
	}
	m := &mapped{}
	m.data, err = mmap.Map(f, mmap.RDONLY, 0)
	if err = errors.Join(err, f.Close()); err != nil { // there may be too many; an empty file cannot be
		if data, err = os.ReadFile(path); err != nil {
			return nil, nil, fmt.Errorf("read history: %w", err)
		}
		return data, nil, nil
	}
	runtime.AddCleanup(m, func(data mmap.MMap) { _ = data.Unmap() }, m.data)
	return m.data, m, nil
}
