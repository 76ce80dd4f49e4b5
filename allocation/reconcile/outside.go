package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
)

// outsideBytes is about how much memory a cost outside of clusters takes.
const outsideBytes = 1 << 10

// outside collects what lines charge that no asset explains, each thing once.
type outside struct {
	wanted   allocation.Billed
	memory   *memory.Account
	external []allocation.ExternalAllocation
	cloud    []allocation.CloudCost
	at       map[string]int // of both lists, by what they are
	ofItem   map[*billing.Item]int
}

// Outside reads the costs of a window within the day that no asset of the day explains.
func (d *Day) outside(ctx context.Context, book *billing.Book, w allocation.Window, wanted allocation.Billed) (*outside, error) {
	o := &outside{wanted: wanted, memory: memory.FromContext(ctx), at: map[string]int{}, ofItem: map[*billing.Item]int{}}
	matches := d.matcher()
	return o, book.Read(ctx, w, func(l *billing.Line) error {
		switch m := matches(l.Item); {
		case m.Kind == External && wanted.External:
			return o.addExternal(l, m)
		case m.Kind == Cloud && wanted.Cloud:
			return o.addCloud(l, m)
		}
		return nil
	})
}

// find returns the place of what a line charges in a list of length n, and whether it is new.
func (o *outside) find(l *billing.Line, n int, key func() string) (i int, isNew bool, err error) {
	if i, ok := o.ofItem[l.Item]; ok {
		return i, false, nil
	}
	k := key()
	i, ok := o.at[k]
	if !ok {
		if err := o.memory.Draw(outsideBytes); err != nil {
			return 0, false, fmt.Errorf("read bills: %d costs outside of clusters: %w", len(o.at), err)
		}
		i = n
		o.at[k] = i
	}
	remember(o.ofItem, l.Item, i)
	return i, !ok, nil
}

func (o *outside) addExternal(l *billing.Line, m *Match) error {
	i, isNew, err := o.find(l, len(o.external), func() string { return "external\x00" + strings.Join(m.Text[:], "\x00") + labelsKey(m.Labels) })
	if err != nil {
		return err
	}
	if isNew {
		o.external = append(o.external, allocation.ExternalAllocation{Text: m.Text, Labels: m.Labels, Start: l.Start, End: l.End})
	}
	e := &o.external[i]
	e.Start, e.End = earliest(e.Start, l.Start), latest(e.End, l.End)
	e.Cost += l.Cost
	return nil
}

// NewCloudCost describes what an item charges as a Cloud cost of no amount and no time.
func NewCloudCost(item *billing.Item, m *Match) allocation.CloudCost {
	labels := make(map[string]string, len(item.Tags))
	for _, tag := range item.Tags {
		labels[tag.Name] = allocation.TenantName(tag.Value)
	}
	c := allocation.CloudCost{
		Name:     cmp.Or(m.Name, item.Resource.Name, lastElement(item.Resource.ID), item.Service.Name, item.Charge.Description, item.Charge.Category.String()),
		Provider: item.Account.Provider, Account: cmp.Or(item.Account.SubID, item.Account.ID), Project: item.Account.SubName,
		Category: cmp.Or(item.Service.Category, "Other"), Service: item.Service.Name, ProviderID: item.Resource.ID, Cluster: m.Cluster, Labels: labels,
	}
	for _, text := range [...]*string{&c.Name, &c.Account, &c.Project, &c.Category, &c.Service, &c.ProviderID} {
		*text = allocation.TenantName(*text)
	}
	return c
}

func (o *outside) addCloud(l *billing.Line, m *Match) error {
	i, isNew, err := o.find(l, len(o.cloud), func() string {
		c := NewCloudCost(l.Item, m)
		return strings.Join([]string{"cloud", c.Name, c.Provider, c.Account, c.Project, c.Category, c.Service, c.ProviderID, c.Cluster}, "\x00") + labelsKey(c.Labels)
	})
	if err != nil {
		return err
	}
	if isNew {
		c := NewCloudCost(l.Item, m)
		c.Start, c.End = l.Start, l.End
		o.cloud = append(o.cloud, c)
	}
	c := &o.cloud[i]
	c.Start, c.End = earliest(c.Start, l.Start), latest(c.End, l.End)
	if l.Charge.Category == billing.Credit {
		c.Credit += l.Cost
	} else {
		c.Cost += l.Cost
	}
	return nil
}

// labelsKey is a text that differs for different labels.
func labelsKey(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString("\x00" + name + "\x01" + labels[name])
	}
	return b.String()
}
