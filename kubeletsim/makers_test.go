package kubeletsim

import (
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// A Secret that a program of unknown content may have created is assumed to exist: the program has run to its end, and
// its service account may create the Secret. Its content is unknown.
func TestAssumedSecrets(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other-key"}}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "known", Labels: map[string]string{images.LabelImage: ""}}, Data: map[string]string{"image": "example.com/known:1", "files": "/opt/x y"},
	})
	client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		what := review.Spec.ResourceAttributes
		may := review.Spec.User == "system:serviceaccount:default:maker" && slices.Contains(review.Spec.Groups, "system:serviceaccounts:default")
		review.Status.Allowed = may && what.Resource == "secrets" && what.Verb == "create"
		return true, review, nil
	})
	c := newClusterWith(t, client, clock.NewLedger(), Options{Nodes: 1})
	needs := func(secret string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			ref := corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: "password"}
			app := &pod.Spec.Containers[0]
			app.Command = []string{"sh", "-c", `[ -n "$PASSWORD" ] && [ -f /cert/tls.crt ] && cat /ca/ca.crt && echo "password is $PASSWORD"; sleep 1000000`}
			app.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &ref}}}
			app.VolumeMounts = []corev1.VolumeMount{{Name: "cert", MountPath: "/cert"}, {Name: "ca", MountPath: "/ca"}}
			pod.Spec.Volumes = append(pod.Spec.Volumes,
				corev1.Volume{Name: "cert", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}},
				corev1.Volume{Name: "ca", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret, Items: []corev1.KeyToPath{{Key: "ca", Path: "ca.crt"}}}}},
			)
		}
	}
	job := func(account, image string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			podtest.OfJob(pod)
			pod.Spec.RestartPolicy, pod.Spec.ServiceAccountName, pod.Spec.Containers[0].Image = corev1.RestartPolicyNever, account, image
		}
	}
	run := func(name string, change func(*corev1.Pod)) {
		c.create(podtest.Pod(name, "node-0", change))
		c.until(name+" has begun", func() bool { return c.pod(name).Status.Phase != corev1.PodPending })
		c.advance(time.Minute)
		c.until(name+" has ended", func() bool { return c.pod(name).Status.Phase == corev1.PodSucceeded })
	}
	c.create(podtest.Pod("waiting", "node-0", needs("made")))
	c.create(podtest.Pod("mistaken", "node-0", needs("other-key")))
	run("other", job("other", "example.com/tool:1"))
	run("described", job("maker", "example.com/known:1"))
	if pod := c.pod("waiting"); pod.Status.Phase != corev1.PodPending {
		t.Errorf("before the Secret may have been made: %+v", pod.Status)
	}
	run("hook", job("maker", "example.com/tool:1"))
	c.until("the pod is ready", func() bool { return isReady(c.pod("waiting")) })
	c.create(podtest.Pod("later", "node-0", needs("made")))
	c.until("a later pod is ready", func() bool { return isReady(c.pod("later")) })
	c.advance(time.Minute)
	if log := c.log("later", "app"); !strings.Contains(log, "password is <unknown>\n") {
		t.Errorf("its log: %q", log)
	}
	if pod := c.pod("mistaken"); pod.Status.Phase != corev1.PodPending {
		t.Errorf("a Secret without the key: %+v", pod.Status)
	}
}
