package labelnames

import (
	"slices"
	"strings"
)

// nodeSign is a label or a taint of nodes that are billed by their pods, and its values there, in any case; nil for any.
type nodeSign struct {
	name   Name
	values []string
}

// fargate marks nodes of AWS Fargate, by a label and a taint.
var fargate = nodeSign{NewName("eks.amazonaws.com/compute-type"), []string{"fargate"}}

// virtualLabels are the labels of virtual nodes: of Virtual Kubelet and providers built on it, Fargate, Tencent's super nodes, Oracle's virtual nodes, Liqo, interLink and KWOK, and
// vCluster's placeholders of nodes.
var virtualLabels = []nodeSign{
	{NewName("type"), []string{"virtual-kubelet", "kwok"}},
	{NewName("virtual-kubelet.io/provider"), nil},
	fargate,
	{NewName("node.kubernetes.io/instance-type"), []string{"eklet"}},
	{NewName("node-role.kubernetes.io/virtual-node"), nil},
	{NewName("liqo.io/type"), []string{"virtual-node"}},
	{NewName("virtual-node.interlink/type"), []string{"virtual-kubelet"}},
	{NewName("vcluster.loft.sh/fake-node"), []string{"true"}},
}

// virtualTaints are the taints of virtual nodes, which need no allow list.
var virtualTaints = []nodeSign{
	{NewName("virtual-kubelet.io/provider"), nil},
	fargate,
	{NewName("eks.tke.cloud.tencent.com/eklet"), nil},
	{NewName("vci.vke.volcengine.com/node-type"), []string{"vci"}},
	{NewName("virtual-node.liqo.io/not-allowed"), nil},
	{NewName("virtual-node.interlink/no-schedule"), nil},
	{NewName("kwok.x-k8s.io/node"), nil},
}

func (s *nodeSign) has(value string) bool {
	return s.values == nil || slices.ContainsFunc(s.values, func(v string) bool { return strings.EqualFold(v, value) })
}

// IsVirtual reports whether labels of a node say that it is billed by its pods.
func IsVirtual(labels map[string]string) bool {
	return slices.ContainsFunc(virtualLabels, func(s nodeSign) bool {
		value, ok := Find(&s.name, labels)
		return ok && s.has(value)
	})
}

// IsFargate reports whether labels of a node say that it is one of AWS Fargate.
func IsFargate(labels map[string]string) bool {
	value, _ := Find(&fargate.name, labels)
	return fargate.has(value)
}

// IsVirtualTaint reports whether a taint says that its node is billed by its pods, and whether that is one of AWS Fargate.
func IsVirtualTaint(key, value string) (virtual, isFargate bool) {
	i := slices.IndexFunc(virtualTaints, func(s nodeSign) bool { return s.name.text == key && s.has(value) })
	return i >= 0, i >= 0 && key == fargate.name.text
}

// VirtualTaints are the keys of taints of nodes that are billed by their pods.
func VirtualTaints() (keys []string) {
	for _, s := range virtualTaints {
		keys = append(keys, s.name.text)
	}
	return keys
}
