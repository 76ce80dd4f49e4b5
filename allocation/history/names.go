package history

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
)

// Period is the length of sets. Hours and days are stored separately, and so are counted hours that differ from the stored
// ones.
type Period uint8

// The periods.
const (
	Hourly Period = iota
	Daily
	Counted // hours, or many where nothing was counted, in the slots of hours
	NumPeriods
)

// String is hourly, daily or counted.
func (p Period) String() string { return [NumPeriods]string{"hourly", "daily", "counted"}[p] }

// Shard says which shard of the computing a set is of: Index of Of, from 1. The zero value is the whole.
type Shard struct{ Index, Of int }

func (p Shard) orWhole() Shard {
	if p == (Shard{}) {
		return Shard{1, 1}
	}
	return p
}

// slot is the place of a set: its name below the folders of a period.
type slot struct {
	period Period
	name   string // date=2026-03-02/hour=13, date=2026-03-02
}

// slotOf returns the slot of a set that starts at t. zone is the time zone of days.
func slotOf(p Period, t time.Time, zone *time.Location) slot {
	if p == Daily {
		return slot{p, "date=" + t.In(zone).Format(time.DateOnly)}
	}
	t = t.UTC()
	hour := t.Format("15")
	if t.Minute() != 0 {
		hour = t.Format("1504")
	}
	return slot{p, "date=" + t.Format(time.DateOnly) + "/hour=" + hour}
}

// folder is where the manifests of the slot are.
func (s slot) folder() string {
	if s.period == Daily {
		return manifests(Daily) + "/year=" + s.name[len("date="):len("date=2006")]
	}
	date, _, _ := strings.Cut(s.name, "/")
	return manifests(s.period) + "/" + date
}

// manifests is the folder of all manifests of a period.
func manifests(p Period) string { return "sets_" + p.String() }

// version is one writing of one part of a set.
type version struct {
	slot
	Shard
	generation int
}

// base ends all names of a version.
func (v version) base() string { return fmt.Sprintf("part-%dof%d.g%d", v.Index, v.Of, v.generation) }

func (v version) manifest() string {
	name := v.name
	if v.period != Daily {
		_, name, _ = strings.Cut(v.name, "/")
	}
	return v.folder() + "/" + name + "." + v.base() + ".json"
}

func (v version) stats() string { return strings.TrimSuffix(v.manifest(), ".json") + ".stats.json" }

// data is the name of the file of a kind for a cluster.
func (v version) data(kind parquet.Kind, cluster string) string {
	return dataFolder(kind, v.period) + "/cluster=" + escapeCluster(cluster) + "/" + v.name + "/" + v.base() + ".parquet"
}

func dataFolder(kind parquet.Kind, p Period) string { return string(kind) + "_" + p.String() }

// maxClusterName is how long the name of a folder may become; file systems allow 255 bytes.
const maxClusterName = 200

// escapeCluster percent-encodes a cluster's name as Hive does. A name that becomes too long is cut and gets a checksum; files
// contain the full name.
func escapeCluster(name string) string {
	if name == "" {
		return "__HIVE_DEFAULT_PARTITION__"
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.@", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() > maxClusterName {
		return fmt.Sprintf("%s~%08x", b.String()[:maxClusterName], crc32.ChecksumIEEE([]byte(name)))
	}
	return b.String()
}

// names are the forms of manifests, by period, and of data files.
type names struct {
	manifest [NumPeriods]*regexp.Regexp
	data     *regexp.Regexp
}

func newNames() names {
	const base = `part-([1-9][0-9]{0,3})of([1-9][0-9]{0,3})\.g([1-9][0-9]{0,8})`
	const date = `date=[0-9]{4}-[0-9]{2}-[0-9]{2}`
	return names{
		manifest: [NumPeriods]*regexp.Regexp{
			Hourly:  regexp.MustCompile(`^sets_hourly/(` + date + `/hour=[0-9]{2,4})\.` + base + `\.json$`),
			Daily:   regexp.MustCompile(`^sets_daily/year=[0-9]{4}/(` + date + `)\.` + base + `\.json$`),
			Counted: regexp.MustCompile(`^sets_counted/(` + date + `/hour=[0-9]{2,4})\.` + base + `\.json$`),
		},
		data: regexp.MustCompile(`^(?:allocations|assets)_(?:hourly|daily|counted)/cluster=[^/]+/(` + date + `(?:/hour=[0-9]{2,4})?)/` + base + `\.parquet$`),
	}
}

// manifestVersion reads the name of a manifest; hourly ones have a slash where the slot has one.
func (n *names) manifestVersion(p Period, name string) (version, bool) {
	return parse(n.manifest[p], p, name)
}

func (n *names) dataVersion(p Period, name string) (version, bool) { return parse(n.data, p, name) }

func parse(form *regexp.Regexp, p Period, name string) (v version, ok bool) {
	m := form.FindStringSubmatch(name)
	if m == nil {
		return v, false
	}
	v.slot = slot{p, m[1]}
	for i, to := range [...]*int{&v.Index, &v.Of, &v.generation} {
		*to, _ = strconv.Atoi(m[2+i])
	}
	return v, v.Index <= v.Of
}

// foldersOf are the folders that manifests of sets which overlap w may be in; all of the period's for the zero window.
func foldersOf(p Period, w allocation.Window) []string {
	if w == (allocation.Window{}) {
		return []string{manifests(p)}
	}
	const day = 24 * time.Hour
	from, to := w.Start.UTC().Add(-2*time.Hour), w.End.UTC() // hours that began before the window
	form, prefix := time.DateOnly, "/date="
	if p == Daily {
		from, to = from.Add(-2*day), to.Add(day) // days of other zones
		form, prefix = "2006", "/year="
	}
	var folders []string
	for t := from.Truncate(day); !t.After(to); t = t.Add(day) {
		name := manifests(p) + prefix + t.Format(form)
		if n := len(folders); n == 0 || folders[n-1] != name {
			folders = append(folders, name)
		}
	}
	return folders
}
