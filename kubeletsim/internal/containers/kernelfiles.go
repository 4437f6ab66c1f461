package containers

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// cpuPeriod is the period of the CPU quota of a container, in microseconds.
const cpuPeriod = 100_000

// kernelFiles returns the files in which the kernel shows the limits of the container and the
// sysctls of the pod, by path.
func (in *Ref) kernelFiles() map[string]string {
	pod := in.entry.See().Pod
	files := cgroupFiles(withPodLimits(pod, podspec.ActualResources(pod, in.spec)))
	memory := in.node.Capacity()[corev1.ResourceMemory]
	files["proc/1/oom_score_adj"] = fmt.Sprintf("%d\n", podspec.OOMScoreAdjustment(pod, in.spec, memory.Value()))
	for name, value := range podspec.SafeSysctls() {
		files["proc/sys/"+strings.ReplaceAll(name, ".", "/")] = value + "\n"
	}
	if of := in.pod.Spec.SecurityContext; of != nil {
		for _, sysctl := range of.Sysctls {
			files["proc/sys/"+strings.ReplaceAll(sysctl.Name, ".", "/")] = sysctl.Value + "\n"
		}
	}
	return files
}

// withPodLimits returns the resources of a container with the limits of its pod where it has none of its own
// (KEP-2837).
func withPodLimits(pod *corev1.Pod, r corev1.ResourceRequirements) corev1.ResourceRequirements {
	if pod.Spec.Resources == nil {
		return r
	}
	limits := corev1.ResourceList{}
	maps.Copy(limits, pod.Spec.Resources.Limits)
	maps.Copy(limits, r.Limits)
	r.Limits = limits
	return r
}

// cgroupFiles returns the files of a container's cgroup, of version 2. CPU requests become
// weights as in KEP-2254.
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
