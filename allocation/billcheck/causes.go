package billcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// cause is why a line that looks like a cluster's matches nothing, and what would mend it.
type cause struct{ text, remedy string }

// clusterTags are tags that a cluster's resources have, or their beginnings.
var clusterTags = []string{
	"kubernetes.io/cluster/", "eks:cluster-name", "aws:eks:cluster-name", "alpha.eksctl.io/cluster-name", "karpenter.sh/nodepool",
	"goog-k8s-cluster-name", "goog-gke-node", "aks-managed-", "ebs.csi.aws.com/cluster", "kubernetes.io/created-for/pvc/name",
}

// looksLikeCluster reports whether a line matches nothing although it looks like a cluster's, and why.
func looksLikeCluster(l *billing.Line, m *reconcile.Match) (cause, bool) {
	isTagged := func(t billing.Tag) bool {
		return slices.ContainsFunc(clusterTags, func(name string) bool { return strings.HasPrefix(strings.ToLower(t.Name), name) })
	}
	switch {
	case l.Charge.Category != billing.Usage || l.Unused() || m.Kind < reconcile.External:
		return cause{}, false
	case len(m.Several) > 0:
		names := strings.Join(m.Several, " and ")
		return cause{"it fits clusters " + names + " equally", fmt.Sprintf("say which account a cluster is in: clusters: {%s: ACCOUNT/NAME} of bill %s", m.Several[0], l.Bill)}, true
	case m.Name != "":
		return cause{"cluster " + m.Cluster + " did not have it on that day", "see with \"promcost check source\" whether metrics of that day are missing"}, true
	case m.Kind == reconcile.External:
		return cause{}, false
	case strings.Contains(strings.ToLower(l.Service.Name), "kubernetes"):
		return cause{"it is of a Kubernetes service", fmt.Sprintf("name the cluster as the bill does: clusters: {CLUSTER: %s} of bill %s", l.Resource.ID, l.Bill)}, true
	}
	if i := slices.IndexFunc(l.Tags, isTagged); i >= 0 {
		return cause{"its tag " + l.Tags[i].Name + " is of a cluster", "let promcost read the metrics of that cluster, with the provider ids of its nodes and volumes"}, true
	}
	return cause{}, false
}

// remedyOf says what would let lines match an asset.
func remedyOf(a reconcile.Asset) string {
	switch a.Kind {
	case reconcile.Node, reconcile.LocalDisk:
		if a.ProviderID == "" {
			return "its provider id is not known: let kube-state-metrics export kube_node_info"
		}
		return "is its account among the bills?"
	case reconcile.Volume:
		return "is its account among the bills, and does kube_persistentvolume_info have its handle?"
	case reconcile.Balancer:
		return "is its account among the bills? Lines match its host name, its address or the name in its ARN"
	case reconcile.Management:
		return fmt.Sprintf("name the cluster as the bill does: clusters: {%s: ARN}", a.Cluster)
	case reconcile.Network, reconcile.External, reconcile.Cloud, reconcile.NumKinds:
	}
	return "lines of data transfer match if they name a node or a load balancer"
}
