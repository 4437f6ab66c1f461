package kubeletsim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestWhatARunSeesOfItsStart changes what a container's environment and volumes come from while it runs. Only volumes
// that are mounted as a whole follow, and the next run sees all of it.
func TestWhatARunSeesOfItsStart(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t, minikcmtest.WithVirtualTime())
	core := c.client.CoreV1()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	settings := &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"color": "blue", "size": "small"}}
	if _, err := core.ConfigMaps("default").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: named("secret"), StringData: map[string]string{"word": "old"}}
	if _, err := core.Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	optional := true
	c.run(podNamed("web", func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"tier": "front"}
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("settings")}}},
			{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: ref("secret")}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "tier", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}},
			}}}},
		}
		main := &pod.Spec.Containers[0]
		main.VolumeMounts = []corev1.VolumeMount{
			{Name: "settings", MountPath: "/etc/app/color", SubPath: "color"},
			{Name: "settings", MountPath: "/settings"},
			{Name: "all", MountPath: "/word", SubPath: "word"},
			{Name: "all", MountPath: "/tier", SubPath: "tier"},
			{Name: "all", MountPath: "/all"},
		}
		main.EnvFrom = []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("settings")}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("later"), Optional: &optional}},
		}
		main.Env = []corev1.EnvVar{
			{Name: "WORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("secret"), Key: "word"}}},
			{Name: "TIER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}},
		}
	}))
	const script = `echo $color $size $more $WORD $TIER, $(cat /etc/app/color /settings/color), $(cat /word /all/word), $(cat /tier /all/tier), $SHOP_SERVICE_PORT`
	check := func(when, want string) {
		t.Helper()
		if got := c.exec(dialers()[0], "web", "", nil, "sh", "-c", script); got.out != want || got.failure != nil {
			t.Errorf("%s: %q (%s, %v), want %q", when, got.out, got.err, got.failure, want)
		}
	}
	check("at the start", "blue small old front, blueblue, oldold, frontfront,\n")

	if err := c.Advance(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error {
			_, err := core.ConfigMaps("default").Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"color":"red","size":null}}`), metav1.PatchOptions{})
			return err
		},
		func() error {
			_, err := core.Secrets("default").Patch(t.Context(), "secret", types.MergePatchType, []byte(`{"stringData":{"word":"new"}}`), metav1.PatchOptions{})
			return err
		},
		func() error {
			_, err := core.Pods("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"back"}}}`), metav1.PatchOptions{})
			return err
		},
		func() error {
			later := &corev1.ConfigMap{ObjectMeta: named("later"), Data: map[string]string{"more": "much"}}
			_, err := core.ConfigMaps("default").Create(t.Context(), later, metav1.CreateOptions{})
			return err
		},
		func() error {
			shop := &corev1.Service{ObjectMeta: named("shop"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8080}}}}
			_, err := core.Services("default").Create(t.Context(), shop, metav1.CreateOptions{})
			return err
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	c.Settle()
	check("after the changes", "blue small old front, bluered, oldnew, frontback,\n")

	if got := c.exec(dialers()[0], "web", "", nil, "kill", "1"); got.failure != nil {
		t.Fatal(got.failure)
	}
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	check("after a restart", "red much new back, redred, newnew, backback, 8080\n")
}
