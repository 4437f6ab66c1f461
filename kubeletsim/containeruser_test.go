package kubeletsim_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestWhatProgramsSee checks what commands in a container find out about their user, their
// environment and their limits.
func TestWhatProgramsSee(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"data-1": "value-1", "1st": "x"}}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.run(podNamed("plain"))
	c.run(podNamed("set", func(pod *corev1.Pod) {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsUser: ptr.To(int64(1001)), RunAsGroup: ptr.To(int64(2002)), FSGroup: ptr.To(int64(3003)), SupplementalGroups: []int64{4004},
			Sysctls: []corev1.Sysctl{{Name: "kernel.shm_rmid_forced", Value: "1"}},
		}
		first := &pod.Spec.Containers[0]
		first.EnvFrom = []corev1.EnvFromSource{{Prefix: "p-", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
		first.Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		}
		second := *first.DeepCopy()
		second.Name, second.EnvFrom, second.Resources = "second", nil, corev1.ResourceRequirements{}
		second.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To(int64(65534)), RunAsGroup: ptr.To(int64(65534))}
		pod.Spec.Containers = append(pod.Spec.Containers, second)
	}))
	c.run(podNamed("leveled", func(pod *corev1.Pod) {
		pod.Spec.Subdomain = "sub"
		pod.Spec.Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Gi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("65Gi")},
		}
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "CPUS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}}
	}))
	c.run(podNamed("requesting", func(pod *corev1.Pod) {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	}))
	c.run(podNamed("renamed", func(pod *corev1.Pod) {
		pod.Spec.Subdomain, pod.Spec.HostnameOverride = "sub", ptr.To("override.example")
	}))
	c.run(podNamed("privileged", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	}))
	for _, test := range []struct{ pod, container, script, want string }{
		{"privileged", "", "mount -t tmpfs x /mnt && echo 1 > /mnt/a", ""},
		{"privileged", "", "ls /mnt; umount /mnt; ls /mnt", "a\n"},
		{"plain", "", "mount -t tmpfs x /mnt 2>&1 || mount --bind /opt /mnt 2>&1 || true", "mount: permission denied (are you root?)\nmount: permission denied (are you root?)\n"},
		{"plain", "", "cat /proc/1/oom_score_adj", "1000\n"},
		{"set", "main", "cat /proc/1/oom_score_adj", "999\n"},
		{"leveled", "", "cat /proc/1/oom_score_adj; cd /sys/fs/cgroup; cat cpu.max memory.max; echo $CPUS", "750\n200000 100000\n69793218560\n2\n"},
		{"requesting", "", "cat /sys/fs/cgroup/cpu.max", "50000 100000\n"},
		{"leveled", "", "hostname; hostname -f; hostname -d", "leveled\nleveled.sub.default.svc.cluster.local\nsub.default.svc.cluster.local\n"},
		{"renamed", "", "hostname; hostname -f; echo $HOSTNAME", "override.example\noverride.example\noverride.example\n"},
		{"plain", "", "id", "uid=0(root) gid=0(root) groups=0(root)\n"},
		{"plain", "", "whoami; id -un; echo $UID ~; sysctl kernel.shm_rmid_forced", "root\nroot\n0 /root\nkernel.shm_rmid_forced = 0\n"},
		{"plain", "", "cd /sys/fs/cgroup; cat cpu.max cpu.weight memory.max", "max 100000\n1\nmax\n"},
		{"set", "main", "id", "uid=1001 gid=2002 groups=2002,4004,3003\n"},
		{"set", "main", "id -u; id -G; echo $UID $HOME; sysctl -n kernel.shm_rmid_forced", "1001\n2002 4004 3003\n1001 /\n1\n"},
		{"set", "main", "env | grep value; sh -c 'env' | grep 1st", "p-data-1=value-1\np-1st=x\n"},
		{"set", "main", "cd /sys/fs/cgroup; cat cpu.max cpu.weight memory.max", "50000 100000\n10\n67108864\n"},
		{"set", "main", "mount -t cgroup2; mount | grep -c cgroup; mount -t ext4", "cgroup on /sys/fs/cgroup type cgroup2 (ro,nosuid,nodev,noexec,relatime)\n1\n"},
		{"set", "second", "id; whoami; cat /sys/fs/cgroup/memory.max", "uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup),4004,3003\nnobody\nmax\n"},
	} {
		if got := c.exec(dialers()[0], test.pod, test.container, nil, "sh", "-c", test.script); got.out != test.want || got.failure != nil {
			t.Errorf("%s in %s/%s printed %q (%s, %v), want %q", test.script, test.pod, test.container, got.out, got.err, got.failure, test.want)
		}
	}
	if got := c.exec(dialers()[0], "set", "main", nil, "whoami"); got.err != "whoami: unknown uid 1001\n" || got.code != 1 {
		t.Errorf("whoami of an unknown user: %q, %d", got.err, got.code)
	}
}
