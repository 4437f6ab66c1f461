package kubeletsim_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestVolumesFollowWhileACommandRuns changes what a volume shows while the container's process reads it in a loop: the process
// sees the change within 90 seconds, and its token anew when 80 % of its life have passed.
func TestVolumesFollowWhileACommandRuns(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t, minikcmtest.WithVirtualTime())
	core := c.client.CoreV1()
	sport := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "sport"}, Data: map[string]string{"sport": "football", "old": "gone later"}}
	if _, err := core.ConfigMaps("default").Create(t.Context(), sport, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.run(podNamed("fan", func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"tier": "front"}
		pod.Spec.Volumes = []corev1.Volume{{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "sport"}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "tier", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](600)}},
		}}}}}
		main := &pod.Spec.Containers[0]
		main.VolumeMounts = []corev1.VolumeMount{{Name: "all", MountPath: "/all"}, {Name: "all", MountPath: "/first", SubPath: "sport"}}
		main.Command = []string{"sh", "-c", `while true; do echo $(cat /all/sport) $(cat /first) $(cat /all/tier) $(ls /all | tr '\n' ,) $(md5sum </all/token); sleep 7; done`}
	}))
	lines := func() []string {
		t.Helper()
		out, err := core.Pods("default").GetLogs("fan", &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	advance := func(d time.Duration) {
		t.Helper()
		if err := c.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	last := func(want string) {
		t.Helper()
		if all := lines(); !strings.HasPrefix(all[len(all)-1], want) {
			t.Errorf("the last line is %q, want %q", all[len(all)-1], want)
		}
	}
	advance(10 * time.Second)
	last("football football front old,sport,tier,token,")
	if _, err := core.ConfigMaps("default").Patch(t.Context(), "sport", types.MergePatchType, []byte(`{"data":{"sport":"cricket","old":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Pods("default").Patch(t.Context(), "fan", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"back"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(100 * time.Second)
	last("cricket football back sport,tier,token,")
	advance(20 * time.Minute)
	tokens := map[string]bool{}
	for _, line := range lines() {
		fields := strings.Fields(line)
		tokens[fields[len(fields)-2]] = true
	}
	if len(tokens) < 2 || len(tokens) > 4 {
		t.Errorf("%d tokens within 22 minutes, want one each eight to ten minutes", len(tokens))
	}
	if err := core.ConfigMaps("default").Delete(t.Context(), "sport", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(5 * time.Minute)
	last("cricket football back sport,tier,token,") // as a kubelet, which keeps what it cannot read again
}
