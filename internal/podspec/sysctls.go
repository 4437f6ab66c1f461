package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SafeSysctls are the namespaced sysctls that every pod may set, with the kernel's defaults
// (https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/).
func SafeSysctls() map[string]string {
	return map[string]string{
		"kernel.shm_rmid_forced":              "0",
		"net.ipv4.ip_local_port_range":        "32768\t60999",
		"net.ipv4.tcp_syncookies":             "1",
		"net.ipv4.ping_group_range":           "1\t0",
		"net.ipv4.ip_unprivileged_port_start": "0",
		"net.ipv4.ip_local_reserved_ports":    "",
		"net.ipv4.tcp_keepalive_time":         "7200",
		"net.ipv4.tcp_fin_timeout":            "60",
		"net.ipv4.tcp_keepalive_intvl":        "75",
		"net.ipv4.tcp_keepalive_probes":       "9",
		"net.ipv4.tcp_rmem":                   "4096\t131072\t6291456",
		"net.ipv4.tcp_wmem":                   "4096\t16384\t4194304",
		"net.ipv4.tcp_slow_start_after_idle":  "1",
		"net.ipv4.tcp_notsent_lowat":          "4294967295",
	}
}

// ForbiddenSysctl says why a kubelet without --allowed-unsafe-sysctls does not run a pod; empty: it does.
func ForbiddenSysctl(pod *corev1.Pod) string {
	if pod.Spec.SecurityContext == nil || len(pod.Spec.SecurityContext.Sysctls) == 0 {
		return ""
	}
	safe := SafeSysctls()
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		name := strings.ReplaceAll(s.Name, "/", ".")
		if _, is := safe[name]; !is {
			return fmt.Sprintf("forbidden sysctl: %q not allowlisted", name)
		}
		switch {
		case strings.HasPrefix(name, "kernel.") && pod.Spec.HostIPC:
			return fmt.Sprintf("forbidden sysctl: %q not allowed with host ipc enabled", name)
		case strings.HasPrefix(name, "net.") && pod.Spec.HostNetwork:
			return fmt.Sprintf("forbidden sysctl: %q not allowed with host net enabled", name)
		}
	}
	return ""
}
