package passes

import (
	"slices"
	"sync"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/grouping"
)

// workspace is reusable memory for merging rows, and its first error. One goroutine at a time uses it, for one set after
// another.
type workspace struct {
	groups  grouping.Groups[allocation.ID]
	differ  [allocation.NumProperties][]bool // groups whose rows differ, by property
	seen    []bool
	own     []allocation.ID
	runs    []int32
	group   []int32 // group and first are scratch space of identify
	first   []int32
	weights []float64
	err     error
}

// note keeps the first error.
func (m *workspace) note(err error) {
	if m.err == nil {
		m.err = err
	}
}

// flags returns cleared flags for each property and each of n groups, and one more for dropped rows.
func (m *workspace) flags(n int) *[allocation.NumProperties][]bool {
	for p := range m.differ {
		m.differ[p] = slices.Grow(m.differ[p][:0], n+1)[:n+1]
		clear(m.differ[p])
	}
	return &m.differ
}

// workspaces are a pool of workspaces. It is safe for concurrent use.
type workspaces struct {
	mu   sync.Mutex
	idle []*workspace
}

// take returns an unused workspace, or a new one.
func (p *workspaces) take() *workspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return &workspace{}
	}
	m := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return m
}

// give puts a workspace back.
func (p *workspaces) give(m *workspace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, m)
}
