package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/parquet"
)

// manifestFormat is the version of manifests: of a newer one they are refused.
const manifestFormat = 1

// manifest says what a part of a set is.
type manifest struct {
	Version           int       `json:"version"`
	Period            string    `json:"period"`
	Start             time.Time `json:"start"`
	End               time.Time `json:"end"`
	Zone              string    `json:"zone"`
	ResolutionSeconds float64   `json:"resolutionSeconds"`
	// ScrapeIntervalSeconds is not in manifests of before it was kept: 0, which is not known.
	ScrapeIntervalSeconds float64  `json:"scrapeIntervalSeconds,omitempty"`
	Rules                 int      `json:"rules,omitempty"` // not in manifests of before there were versions
	Unlabeled             bool     `json:"unlabeled,omitempty"`
	Complete              bool     `json:"complete"`
	Warnings              []string `json:"warnings,omitempty"`
	// Covered is when the clusters have data. It is not in manifests of before it was kept, and then nil.
	Covered []covered `json:"covered"`
	// PricedBy is what the assets cost by the sources of their prices, which reading all of the assets would say as well.
	PricedBy []allocation.SourceCost `json:"pricedBy,omitempty"`
	Files    []file                  `json:"files"` // by cluster, allocations before assets

	version version // of its name
}

// covered is a stretch of time in which a cluster has data, see allocation.Covered.
type covered struct {
	Cluster string    `json:"cluster"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Created time.Time `json:"created,omitzero"`
}

// file is a file of a set.
type file struct {
	Name    string       `json:"name"`
	Kind    parquet.Kind `json:"kind"`
	Cluster string       `json:"cluster"`
	Rows    int          `json:"rows"`
	Bytes   int64        `json:"bytes"`
	CRC32C  string       `json:"crc32c"`
}

func (m *manifest) window() allocation.Window { return allocation.Window{Start: m.Start, End: m.End} }

func (m *manifest) resolution() time.Duration {
	return time.Duration(m.ResolutionSeconds * float64(time.Second))
}

func (m *manifest) scrapeInterval() time.Duration {
	return time.Duration(m.ScrapeIntervalSeconds * float64(time.Second))
}

// covered is when the clusters have data. Where the manifest does not say, all of the window counts that no warning says to lack costs.
func (m *manifest) covered() (list []allocation.Covered) {
	for _, x := range m.Covered {
		list = append(list, allocation.Covered(x))
	}
	if m.Covered != nil {
		return list
	}
	w := m.window()
	for i := range m.Files {
		from := w.Start
		for _, hole := range append(notices.Holes(m.Warnings, w), allocation.Window{Start: w.End, End: w.End}) {
			if from.Before(hole.Start) {
				list = append(list, allocation.Covered{Cluster: m.Files[i].Cluster, Start: from, End: hole.Start.UTC()})
			}
			from = hole.End.UTC()
		}
	}
	return coverage.Join(list)
}

// rules is the version of the rules that the part was computed by.
func (m *manifest) rules() int { return max(m.Rules, allocation.OldestRules) }

// checksum is the CRC-32C of data in hexadecimal.
func checksum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// seal is a value in JSON, and its checksum in a second line.
func seal(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(data, "\n%s\n", checksum(data)), nil
}

// unseal reads what seal has written.
func unseal(data []byte, v any) error {
	text, sum, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(sum) != checksum(text)+"\n" {
		return errors.New("its checksum does not match")
	}
	return json.Unmarshal(text, v)
}

// encode is the manifest in JSON, and its checksum in a second line.
func (m *manifest) encode() ([]byte, error) { return seal(m) }

// decodeManifest reads the manifest of a version.
func decodeManifest(data []byte, v version) (*manifest, error) {
	m := &manifest{version: v}
	if err := unseal(data, m); err != nil {
		return nil, err
	}
	if m.Version > manifestFormat {
		return nil, fmt.Errorf("%w: its format is %d, at most %d is known: upgrade this promcost", parquet.ErrNewerVersion, m.Version, manifestFormat)
	}
	if !m.Start.Before(m.End) {
		return nil, fmt.Errorf("it is of the time from %s to %s", m.Start, m.End)
	}
	if err := m.checkName(); err != nil {
		return nil, err
	}
	if err := m.checkContent(); err != nil {
		return nil, err
	}
	return m, nil
}

// misplacedError means that a manifest lies under a name that is not its own: someone copied or renamed it.
type misplacedError struct {
	says  string
	files []file // that it names: they are no orphans
}

// Error says whose manifest it is.
func (e *misplacedError) Error() string { return e.says }

// remedy says what to do: the set under its own name is not damaged.
func (e *misplacedError) remedy() string {
	return "its name is another set's: rename it if its own set lacks it, else remove it"
}

// checkName compares what the manifest says with its name: the period, the time and the names of its files. They hold the
// part and the generation, too.
func (m *manifest) checkName() error {
	v := m.version
	if m.Period != v.period.String() || !v.holds(m.Start) {
		return &misplacedError{fmt.Sprintf("it is of the %s set that begins at %s", m.Period, m.Start.UTC().Format(time.RFC3339)), m.Files}
	}
	for i := range m.Files {
		f := &m.Files[i]
		if !strings.HasPrefix(f.Name, dataFolder(f.Kind, v.period)+"/") || !strings.HasSuffix(f.Name, "/"+v.name+"/"+v.base()+".parquet") {
			return &misplacedError{"it is the manifest of " + f.Name, m.Files}
		}
	}
	return nil
}

// checkContent refuses a window that is not a whole hour or day, a file in the folder of another cluster, and a file that is
// named twice.
func (m *manifest) checkContent() error {
	if !m.version.period.whole(m.window(), m.Zone) {
		return fmt.Errorf("its window is %s to %s, which is no %s set of the time zone %q", m.Start.Format(time.RFC3339), m.End.Format(time.RFC3339), m.Period, m.Zone)
	}
	seen := map[string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		if f.Name != m.version.data(f.Kind, f.Cluster) {
			return fmt.Errorf("it names %s as a file of the cluster %q", f.Name, f.Cluster)
		}
		if seen[f.Name] {
			return fmt.Errorf("it names %s twice", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// whole reports whether a window is an hour, or a day of the zone. Days of a zone that this system does not know have 22 to 26
// hours, and a counted set has any length.
func (p Period) whole(w allocation.Window, zone string) bool {
	if p != Daily {
		return p == Counted || w.Duration() == time.Hour
	}
	z := zoneOf(zone)
	if z == nil {
		return w.Duration() >= 22*time.Hour && w.Duration() <= 26*time.Hour
	}
	day := allocation.Day.Round(allocation.Window{Start: w.Start, End: w.Start.Add(1)}, z)
	return day.Start.Equal(w.Start) && day.End.Equal(w.End)
}

// zoneOf returns a time zone by its IANA name or its offset, nil if it is unknown.
func zoneOf(name string) *time.Location {
	if t, err := time.Parse("Z07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset)
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil
	}
	return zone
}

// holds reports whether a set that starts at t belongs into the slot. Days begin at midnight of a zone between UTC-12 and
// UTC+14.
func (s slot) holds(t time.Time) bool {
	if s.period != Daily {
		return slotOf(s.period, t, time.UTC) == s
	}
	noon := s.within().Start
	return !t.Before(noon.Add(-26*time.Hour)) && !t.After(noon.Add(time.Hour))
}

// check compares the content of a file with the manifest.
func (f *file) check(data []byte) error {
	if int64(len(data)) != f.Bytes {
		return fmt.Errorf("it has %d bytes, its manifest says %d", len(data), f.Bytes)
	}
	if got := checksum(data); got != f.CRC32C {
		return fmt.Errorf("its checksum is %s, its manifest says %s", got, f.CRC32C)
	}
	return nil
}

// Stored is a set in the store. It is complete unless parts are missing.
type Stored struct {
	Period     Period
	Window     allocation.Window
	Zone       string // that it was cut in
	Resolution time.Duration
	Rules      int  // the oldest version of its parts, see allocation.RulesVersion
	Complete   bool // nothing of the source was missing
	Generation int  // the highest of its parts
	Shards     int
	Missing    []Shard // missing parts, by index; none if the set is complete
	Warnings   []string
	Clusters   []string // sorted
	Rows       int      // allocations
	Assets     int      // of all types, and residuals
	Bytes      int64    // of all files

	slot      slot
	manifests []*manifest // by index
}

// Files are the names of the set's files, manifests included.
func (s *Stored) Files() (names []string) {
	for _, m := range s.manifests {
		for i := range m.Files {
			names = append(names, m.Files[i].Name)
		}
		names = append(names, m.version.manifest())
	}
	return names
}

// describe names the set in errors.
func (s *Stored) describe() string {
	return s.Period.String() + " set of " + s.Window.Start.UTC().Format(time.RFC3339)
}

// newStored returns the set that the manifests are the parts of. The parts are whole.
func newStored(manifests []*manifest) Stored {
	first := manifests[0]
	s := Stored{
		Period: first.version.period, Window: first.window(), Zone: first.Zone, Rules: first.rules(), Complete: true, Shards: len(manifests), slot: first.version.slot, manifests: manifests,
	}
	for _, m := range manifests {
		s.Resolution = max(s.Resolution, m.resolution())
		s.Rules = min(s.Rules, m.rules())
		s.Complete = s.Complete && m.Complete
		s.Generation = max(s.Generation, m.version.generation)
		s.Warnings = append(s.Warnings, m.Warnings...)
		for i := range m.Files {
			f := &m.Files[i]
			s.Bytes += f.Bytes
			s.Clusters = append(s.Clusters, f.Cluster)
			if f.Kind == parquet.Allocations {
				s.Rows += f.Rows
			} else {
				s.Assets += f.Rows
			}
		}
	}
	for _, list := range [...]*[]string{&s.Warnings, &s.Clusters} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s
}
