package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/promcost/promcost/allocation"
)

// sumOfStats begins the checksum that a file of stats ends with. Files of before it was kept have none.
const sumOfStats = ",\n  \"CRC32C\": \""

// encodeStats encodes what a computation read as JSON, with a checksum of the text before it.
func encodeStats(r *allocation.Reading) ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSuffix(data, []byte("\n}"))
	return fmt.Appendf(data, "%s%s\"\n}\n", sumOfStats, checksum(data)), nil
}

// statsError is a problem of a file of stats. Costs do not depend on it.
type statsError struct{ error }

// Unwrap returns the problem.
func (e statsError) Unwrap() error { return e.error }

func (statsError) remedy() string { return "remove it: it only says what was read for the set" }

// checkStats compares a file of stats with its checksum and with the manifest of its set.
func (m *manifest) checkStats(data []byte) error {
	if at := bytes.LastIndex(data, []byte(sumOfStats)); at >= 0 && string(data[at:]) != sumOfStats+checksum(data[:at])+"\"\n}\n" {
		return errors.New("its checksum does not match")
	}
	var r allocation.Reading
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if r.Window.Start.After(m.Start) || r.Window.End.Before(m.End) {
		return fmt.Errorf("it is of a computation of %s to %s, which does not contain the set", r.Window.Start, r.Window.End)
	}
	if r.Resolution != m.resolution() {
		return fmt.Errorf("it is of a computation with the resolution %s, the set has %s", r.Resolution, m.resolution())
	}
	return nil
}

// verifyStats checks the stats of a set's parts, and says how many there are. That a part has none is no error.
func (s *Store) verifyStats(ctx context.Context, set *Stored) (files int, err error) {
	for _, m := range set.manifests {
		name := m.version.stats()
		data, err := s.backend.Get(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("verify %s: %w", set.describe(), err)
		}
		if err := m.checkStats(data); err != nil {
			return 0, &CorruptError{Name: name, Period: set.Period, Window: set.Window, Err: statsError{err}}
		}
		files++
	}
	return files, nil
}
