package containers

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// cpuPeriod is the period of the CPU quota of a container, in microseconds.
const cpuPeriod = 100_000

// kernelFiles returns the files in which the kernel shows the limits of the container and the
// sysctls of the pod, by path.
func (in *Ref) kernelFiles() map[string]string {
	files := cgroupFiles(podspec.ActualResources(in.entry.See().Pod, in.spec))
	for name, value := range safeSysctls {
		files["proc/sys/"+strings.ReplaceAll(name, ".", "/")] = value + "\n"
	}
	if of := in.pod.Spec.SecurityContext; of != nil {
		for _, sysctl := range of.Sysctls {
			files["proc/sys/"+strings.ReplaceAll(sysctl.Name, ".", "/")] = sysctl.Value + "\n"
		}
	}
	return files
}

// safeSysctls are the namespaced sysctls that every pod may set, with the kernel's defaults.
var safeSysctls = map[string]string{
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
}

// cgroupFiles returns the files of a container's cgroup, of version 2. The conversion of CPU
// requests to weights is that of KEP-2254.
func cgroupFiles(r corev1.ResourceRequirements) map[string]string {
	quota, memory := "max", "max"
	if limit := r.Limits.Cpu(); !limit.IsZero() {
		quota = fmt.Sprint(max(limit.MilliValue()*cpuPeriod/1000, 1000))
	}
	if limit := r.Limits.Memory(); !limit.IsZero() {
		memory = fmt.Sprint(limit.Value())
	}
	shares := min(max(r.Requests.Cpu().MilliValue()*1024/1000, 2), 262144)
	const at = "sys/fs/cgroup/"
	return map[string]string{
		at + "cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc\n",
		at + "cpu.max":            fmt.Sprintf("%s %d\n", quota, cpuPeriod),
		at + "cpu.weight":         fmt.Sprintf("%d\n", 1+(shares-2)*9999/262142),
		at + "memory.max":         memory + "\n",
		at + "memory.high":        "max\n",
		at + "memory.swap.max":    "0\n",
		at + "pids.max":           "max\n",
	}
}
