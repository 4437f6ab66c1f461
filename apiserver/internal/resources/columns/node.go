package columns

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	nodeRolePrefix = "node-role.kubernetes.io/"
	nodeRoleLabel  = "kubernetes.io/role"
)

// Node is the Table of core/v1 Nodes.
func Node() Table {
	info, status := corev1.NodeSystemInfo{}.SwaggerDoc(), corev1.NodeStatus{}.SwaggerDoc()
	return table(func(n *corev1.Node, now time.Time) []any {
		return []any{
			n.Name,
			nodeStatus(n),
			nodeRoles(n),
			age(n.CreationTimestamp, now),
			n.Status.NodeInfo.KubeletVersion,
			nodeAddress(n, corev1.NodeInternalIP),
			nodeAddress(n, corev1.NodeExternalIP),
			orElse(n.Status.NodeInfo.OSImage, unknown),
			nodeKernel(&n.Status.NodeInfo),
			orElse(n.Status.NodeInfo.ContainerRuntimeVersion, unknown),
		}
	},
		nameColumn(),
		text("Status", "Whether the node is ready, and whether it takes new pods."),
		text("Roles", "The roles that the node's labels give it."),
		ageColumn(),
		text("Version", info["kubeletVersion"]),
		wide(text("Internal-IP", status["addresses"])),
		wide(text("External-IP", status["addresses"])),
		wide(text("OS-Image", info["osImage"])),
		wide(text("Kernel-Version", info["kernelVersion"])),
		wide(text("Container-Runtime", info["containerRuntimeVersion"])),
	)
}

// nodeKernel is the version of the kernel and the architecture.
func nodeKernel(info *corev1.NodeSystemInfo) string {
	kernel := orElse(info.KernelVersion, unknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return kernel
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if c.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if c.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(n *corev1.Node) string {
	var roles []string
	for k, v := range n.Labels {
		if role, ok := strings.CutPrefix(k, nodeRolePrefix); ok && role != "" {
			roles = append(roles, role)
		} else if k == nodeRoleLabel && v != "" {
			roles = append(roles, v)
		}
	}
	slices.Sort(roles)
	return orElse(strings.Join(slices.Compact(roles), ","), none)
}

func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == t {
			return a.Address
		}
	}
	return none
}
