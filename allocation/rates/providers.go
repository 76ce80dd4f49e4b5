package rates

import (
	"cmp"
	"regexp"
	"strings"
)

// Provider is the cloud that a provider id names, in the spelling of price sheets: aws, gcp, azure.
func Provider(providerID string) string {
	name, _, ok := strings.Cut(providerID, "://")
	switch {
	case !ok:
		return ""
	case name == "gce":
		return "gcp"
	}
	return name
}

// MachinePath is a provider id without what names the provider, in small letters: us-east-1a/i-0123 of aws:///us-east-1a/i-0123. Tools write
// ids of Azure in any case.
func MachinePath(providerID string) string {
	if i := strings.LastIndex(providerID, "://"); i >= 0 {
		providerID = providerID[i+len("://"):]
	}
	return strings.ToLower(strings.TrimLeft(providerID, "/"))
}

// azureRoot begins the paths of machines of Azure, whose ends are numbers that many machines have.
const azureRoot = "subscriptions/"

// SameMachine reports whether path, or its end after a slash such as i-0123, is what is given. Both are of MachinePath. A machine of Azure
// is known by its whole path.
func SameMachine(given, path string) bool {
	return given == path || !strings.HasPrefix(path, azureRoot) && strings.HasSuffix(path, given) && strings.HasSuffix(path[:len(path)-len(given)], "/")
}

// driverProviders are the providers of CSI drivers and of in-tree plugins.
var driverProviders = map[string]string{
	"ebs.csi.aws.com": "aws", "efs.csi.aws.com": "aws", "fsx.csi.aws.com": "aws",
	"pd.csi.storage.gke.io": "gcp", "filestore.csi.storage.gke.io": "gcp",
	"disk.csi.azure.com": "azure", "file.csi.azure.com": "azure", "blob.csi.azure.com": "azure",
	"kubernetes.io/aws-ebs": "aws", "kubernetes.io/gce-pd": "gcp", "kubernetes.io/azure-disk": "azure",
}

// ProviderOfDriver is the provider of a CSI driver or of an in-tree plugin, "" if it is not known.
func ProviderOfDriver(driver string) string { return driverProviders[driver] }

// PlaceOfVolume reads the location from a volume handle of Google, projects/p/zones/europe-west1-b/disks/d, or of AWS without CSI,
// aws://eu-central-1a/vol-1.
func PlaceOfVolume(handle string) (region, zone string) {
	if rest, ok := strings.CutPrefix(handle, "aws://"); ok {
		if zone, _, ok = strings.Cut(rest, "/"); ok {
			return strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz"), zone
		}
		return "", ""
	}
	parts := strings.Split(handle, "/")
	if len(parts) != 6 || parts[0] != "projects" {
		return "", ""
	}
	switch parts[2] {
	case "regions":
		return parts[3], ""
	case "zones":
		if i := strings.LastIndexByte(parts[3], '-'); i > 0 {
			return parts[3][:i], parts[3]
		}
	}
	return "", ""
}

// zoneOfNode is the zone of a node in its provider id, and the region before it: aws:///eu-central-1a/i-0123, gce://project/europe-west3-a/node. Local zones have other
// names.
var zoneOfNode = regexp.MustCompile(`^(?:aws:///([a-z]+(?:-[a-z]+)+-[0-9]+)[a-z]|gce://[^/]+/([a-z]+-[a-z]+[0-9]+)-[a-z])/`)

// Region is the region of a node by its provider id, "" where that does not tell it.
func Region(providerID string) string {
	if m := zoneOfNode.FindStringSubmatch(providerID); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// MostNamed is the name with the most votes, the first by name in a tie. It is "" only if there is no other.
func MostNamed(votes map[string]int) (most string) {
	for name, n := range votes {
		if name != "" && (most == "" || cmp.Or(cmp.Compare(votes[most], n), strings.Compare(name, most)) < 0) {
			most = name
		}
	}
	return most
}
