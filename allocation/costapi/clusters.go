package costapi

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// info is the cluster's description.
func (a *api) info() ClusterInfo {
	c := a.cfg.Cluster()
	c.Name = cmp.Or(c.Name, c.ID)
	return c
}

// clusters are all known clusters, by id.
func (a *api) clusters() []ClusterInfo {
	all := slices.Clone(a.cfg.Clusters())
	own := a.info()
	if unknown := own.ID == "" && len(all) > 0; !unknown && !slices.ContainsFunc(all, func(c ClusterInfo) bool { return c.ID == own.ID }) {
		all = append(all, own)
	}
	for i := range all {
		all[i].Name = cmp.Or(all[i].Name, all[i].ID)
	}
	slices.SortFunc(all, func(x, y ClusterInfo) int { return cmp.Compare(x.ID, y.ID) })
	return all
}

// clusterInfo is the cluster as Kubecost describes it: all values are strings. If there are several clusters, it lists the ids of
// all. closedUntil is when the newest closed hour ended, nextClosed when the next one will be closed.
func (a *api) clusterInfo() map[string]string {
	c, all := a.info(), a.clusters()
	out := map[string]string{
		"id": c.ID, "name": c.Name, "provider": c.Provider, "project": c.Project, "account": c.Account, "region": c.Region,
		"provisioner": c.Provisioner, "clusterProfile": c.Profile, "version": c.Version,
		"logCollection": "false", "productAnalytics": "false", "errorReporting": "false", "valuesReporting": "false",
		"thanosEnabled": "false", "thanosOffset": "",
	}
	for name, at := range map[string]time.Time{"closedUntil": a.cfg.Closed(), "nextClosed": a.cfg.NextClosed()} {
		if !at.IsZero() {
			out[name] = at.UTC().Format(time.RFC3339)
		}
	}
	if len(all) > 1 {
		ids := make([]string, len(all))
		for i := range all {
			ids[i] = all[i].ID
		}
		out["clusters"] = strings.Join(ids, ",")
	}
	return out
}

// clusterInfoMap is the clusters as OpenCost describes them, by id.
func (a *api) clusterInfoMap() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, c := range a.clusters() {
		out[c.ID] = map[string]string{
			"id": c.ID, "name": c.Name, "profile": c.Profile, "provider": c.Provider, "account": c.Account, "project": c.Project,
			"region": c.Region, "provisioner": c.Provisioner,
		}
	}
	return out
}
