package allocation

import (
	"slices"
	"strings"
)

// Names of special rows and of missing properties. They never mean anything else: a value that looks like one is escaped, see TenantName.
const (
	IdleName        = "__idle__"
	UnallocatedName = "__unallocated__"
	UnmountedName   = "__unmounted__"
	ExternalName    = "__external__"
	SharedName      = "__shared__"
	UndefinedName   = "__undefined__" // stands for a missing property in the names of assets
	OtherName       = "__other__"     // sums the subjects of metrics that a limit of series leaves out
)

// unmountedPod ends the name of the pod that a row has of volumes that no pod mounts, after their namespace.
const unmountedPod = "-unmounted-pvcs"

// UnmountedPod returns the pod of the row of a namespace's volumes that no pod mounts, as Kubecost names it.
func UnmountedPod(namespace string) string { return namespace + unmountedPod }

// specialNames are the names that values must not pass for. LocalStorage is among them because disks of nodes are told by it.
var specialNames = [...]string{IdleName, UnallocatedName, UnmountedName, ExternalName, SharedName, UndefinedName, OtherName, LocalStorage}

// IsSpecialName reports whether a name, or a part of one, is that of a special row or of a missing property.
func IsSpecialName(name string) bool {
	return slices.Contains(specialNames[:], name) || strings.HasSuffix(name, unmountedPod) && !strings.HasPrefix(name, `\`)
}

// TenantName returns a value from series or bills as everything shows it and filters find it. A value that looks like the name of a
// special row has a backslash before it, as in `\__idle__`, and one more where it begins with backslashes already: so different values
// stay different, and no tenant can pass for a special row. Names of rows join values by slashes, so each part between slashes counts.
func TenantName(value string) string {
	return escapeParts(value, func(part string) bool { return IsSpecialName(strings.TrimLeft(part, `\`)) })
}

// TenantValue returns the value that TenantName shows as name, as whoever gave it writes it.
func TenantValue(name string) string {
	return eachPart(name, func(part string) string {
		if value, ok := strings.CutPrefix(part, `\`); ok && IsSpecialName(strings.TrimLeft(value, `\`)) {
			return value
		}
		return part
	})
}

// derivedName returns a text that was derived from properties as TenantName does. Properties of tenants are escaped already, so a special
// name among them is that of a special row, and stays; any other that the text has was made of something else.
func derivedName(text string, properties map[string]any) string {
	for _, v := range properties {
		if from, ok := v.(string); ok && IsSpecialName(from) {
			return text
		}
	}
	return escapeParts(text, IsSpecialName)
}

// escapeParts puts a backslash before the parts between slashes that look like the name of a special row.
func escapeParts(value string, looksSpecial func(part string) bool) string {
	return eachPart(value, func(part string) string {
		if looksSpecial(part) {
			return `\` + part
		}
		return part
	})
}

// eachPart is a value whose parts between slashes are changed, if any may look like the name of a special row.
func eachPart(value string, change func(part string) string) string {
	if !strings.Contains(value, "__") && !strings.Contains(value, unmountedPod) { // as almost always
		return value
	}
	parts := strings.Split(value, "/")
	for i, part := range parts {
		parts[i] = change(part)
	}
	return strings.Join(parts, "/")
}
