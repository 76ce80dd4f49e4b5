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

// computedClusters are the clusters of the computation whose data end last.
type computedClusters struct {
	mu   sync.Mutex
	byID map[string]costapi.ClusterInfo
	end  time.Time // of its last set with clusters, now at most
	// logged are the ids of clusters that were logged as missing.
	logged map[string]bool
}

// learn replaces the clusters by those of computed sets, unless these end earlier. A computation reads only what its question
// needs, so what its sets do not say of a cluster is taken from earlier computations. The first node that has a provider and a region says where its cluster is.
func (s *computedClusters) learn(sets []*allocation.Set, now time.Time) {
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

// list returns the clusters of computed sets, by id.
func (s *computedClusters) list() []costapi.ClusterInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]costapi.ClusterInfo, 0, len(s.byID))
	for _, id := range sortedKeys(s.byID) {
		out = append(out, s.byID[id])
	}
	return out
}

// missing returns the given ids of clusters that no computed set has, though sets have other clusters. It returns each id once in the
// life of the process.
func (s *computedClusters) missing(ids []string) []string {
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

// configured returns what the config says about a cluster, or else what computed sets say.
func configured(s *config.Settings, c costapi.ClusterInfo) costapi.ClusterInfo {
	said := s.Clusters[c.ID]
	c.Name, c.Provider, c.Region = said.Name, cmp.Or(said.Provider, c.Provider), cmp.Or(said.Region, c.Region)
	return c
}

// allClusters returns the clusters of computed sets and those of the config.
func allClusters(s *config.Settings, computed []costapi.ClusterInfo) []costapi.ClusterInfo {
	out := make([]costapi.ClusterInfo, 0, len(computed)+len(s.Clusters))
	for _, c := range computed {
		out = append(out, configured(s, c))
	}
	for _, id := range sortedKeys(s.Clusters) {
		if !slices.ContainsFunc(computed, func(c costapi.ClusterInfo) bool { return c.ID == id }) {
			out = append(out, configured(s, costapi.ClusterInfo{ID: id}))
		}
	}
	return out
}

// mainCluster is the cluster that stands for all: the one of series without a cluster label, unless all computed
// clusters have a label.
func mainCluster(s *config.Settings, id string, computed []costapi.ClusterInfo) costapi.ClusterInfo {
	own := costapi.ClusterInfo{ID: id}
	if i := slices.IndexFunc(computed, func(c costapi.ClusterInfo) bool { return c.ID == id }); i >= 0 {
		own = computed[i]
	} else if len(computed) > 0 {
		own = computed[0]
	}
	return configured(s, own)
}

// missClusters logs the clusters of the config without any data, each once.
func (s *service) missClusters() {
	ids := s.computer.clusters.missing(sortedKeys(s.settings().Clusters))
	if len(ids) > 0 {
		level.Warn(s.logs.kit).Log("msg", "Nothing was seen of clusters that the config file names: are their ids those of the series?",
			"clusters", strings.Join(ids, ","), "label", s.flags.clusterLabel)
	}
}
