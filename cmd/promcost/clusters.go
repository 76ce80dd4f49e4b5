package main

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// seenClusters are the clusters of the computation whose data end last.
type seenClusters struct {
	mu   sync.Mutex
	byID map[string]costapi.ClusterInfo
	end  time.Time // of its last set with clusters, now at most
	// logged are the ids of clusters that were logged as not seen.
	logged map[string]bool
}

// learn replaces the clusters by those of computed sets, unless these end earlier. What is not told of a cluster is taken from other
// computations: each reads only what its question needs. The first node that has a provider and a region says where its cluster is.
func (s *seenClusters) learn(sets []*allocation.Set, now time.Time) {
	byID := map[string]costapi.ClusterInfo{}
	var end time.Time
	for _, set := range sets {
		if some := set.Len() + len(set.Nodes) + len(set.Management); some > 0 && set.Window.End.After(end) {
			end = set.Window.End
		}
		last := ""
		for row := range set.Len() {
			id := set.Text(allocation.Cluster, row)
			if id != last { // consecutive rows mostly have the same cluster
				c := byID[id]
				c.ID = id
				byID[id] = c
			}
			last = id
		}
		for i := range set.Nodes {
			n := &set.Nodes[i]
			provider, _ := allocation.ParseProviderID(n.ProviderID)
			c := byID[n.Cluster]
			c.ID, c.Provider, c.Region = n.Cluster, cmp.Or(c.Provider, provider), cmp.Or(c.Region, n.Region)
			byID[n.Cluster] = c
		}
		for i := range set.Management {
			m := &set.Management[i]
			c := byID[m.Cluster]
			c.ID, c.Provisioner = m.Cluster, cmp.Or(c.Provisioner, m.Provisioner)
			byID[m.Cluster] = c
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end.After(now) {
		end = now
	}
	latest, other := byID, s.byID
	if len(byID) == 0 || end.Before(s.end) {
		latest, other = other, latest
	} else {
		s.end = end
	}
	for id, c := range latest {
		more := other[id]
		c.Provider, c.Region, c.Provisioner = cmp.Or(c.Provider, more.Provider), cmp.Or(c.Region, more.Region), cmp.Or(c.Provisioner, more.Provisioner)
		latest[id] = c
	}
	s.byID = latest
}

// list are the clusters that were seen, by id.
func (s *seenClusters) list() []costapi.ClusterInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]costapi.ClusterInfo, 0, len(s.byID))
	for _, id := range sortedKeys(s.byID) {
		out = append(out, s.byID[id])
	}
	return out
}

// unseen are the given ids that were not seen though others were, each once in the life of the process.
func (s *seenClusters) unseen(ids []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) == 0 {
		return nil
	}
	if s.logged == nil {
		s.logged = map[string]bool{}
	}
	var out []string
	for _, id := range ids {
		if _, ok := s.byID[id]; !ok && !s.logged[id] {
			s.logged[id] = true
			out = append(out, id)
		}
	}
	return out
}

// configured is what the config says about a cluster, or else what was seen of it.
func configured(s *config.Settings, c costapi.ClusterInfo) costapi.ClusterInfo {
	said := s.Clusters[c.ID]
	c.Name, c.Provider, c.Region = said.Name, cmp.Or(said.Provider, c.Provider), cmp.Or(said.Region, c.Region)
	return c
}

// allClusters are the seen clusters and those of the config.
func allClusters(s *config.Settings, seen []costapi.ClusterInfo) []costapi.ClusterInfo {
	out := make([]costapi.ClusterInfo, 0, len(seen)+len(s.Clusters))
	for _, c := range seen {
		out = append(out, configured(s, c))
	}
	for _, id := range sortedKeys(s.Clusters) {
		if !slices.ContainsFunc(seen, func(c costapi.ClusterInfo) bool { return c.ID == id }) {
			out = append(out, configured(s, costapi.ClusterInfo{ID: id}))
		}
	}
	return out
}

// mainCluster is the cluster that stands for all: the one of series without a cluster label, unless all seen clusters have a
// label.
func mainCluster(s *config.Settings, id string, seen []costapi.ClusterInfo) costapi.ClusterInfo {
	own := costapi.ClusterInfo{ID: id}
	if i := slices.IndexFunc(seen, func(c costapi.ClusterInfo) bool { return c.ID == id }); i >= 0 {
		own = seen[i]
	} else if len(seen) > 0 {
		own = seen[0]
	}
	return configured(s, own)
}

// missClusters logs the clusters of the config without any data, each once.
func (s *service) missClusters() {
	ids := s.computer.seen.unseen(sortedKeys(s.settings().Clusters))
	if len(ids) > 0 {
		level.Warn(s.logs.kit).Log("msg", "Nothing was seen of clusters that the config file names: are their ids those of the series?",
			"clusters", strings.Join(ids, ","), "label", s.flags.clusterLabel)
	}
}
