package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/clock"
)

// withImagePolicy is an option of start: the plugin with a webhook and settings.
func withImagePolicy(t testing.TB, kubeconfig, settings string) func(*apiserver.Options) {
	t.Helper()
	config := withConfig(t, fmt.Sprintf("%s- name: ImagePolicyWebhook\n  configuration: {imagePolicy: {kubeConfigFile: %q, retryBackoff: 1, %s}}\n", configHead, kubeconfig, settings))
	return func(o *apiserver.Options) {
		withPlugins("ImagePolicyWebhook")(o)
		config(o)
	}
}

// auditAnnotations is an option of start that records the annotations of finished requests.
func auditAnnotations(t testing.TB) (func(*apiserver.Options), func(key string) []string) {
	t.Helper()
	var mu sync.Mutex
	values := map[string][]string{}
	policy := &auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata}}}
	auditor := must(audit.New(audit.Options{Policy: policy, Events: func(e *auditv1.Event) {
		if e.Stage != auditv1.StageResponseComplete {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for key, value := range e.Annotations {
			values[key] = append(values[key], value)
		}
	}}, clock.Real(), klog.Background()))(t)
	t.Cleanup(func() { _ = auditor.Close() })
	return func(o *apiserver.Options) { o.Audit = auditor }, func(key string) []string {
		mu.Lock()
		defer mu.Unlock()
		return values[key]
	}
}

func withImage(name, image string) *corev1.Pod {
	p := pod(name)
	p.Spec.Containers[0].Image = image
	return p
}

// TestImagePolicyWebhook has a webhook review images. Its answers count for as long as the
// configuration says, on the cluster's clock.
func TestImagePolicyWebhook(t *testing.T) {
	var calls atomic.Int32
	var last imagepolicyv1alpha1.ImageReviewSpec
	path := startWebhook(t, reviewing(t, &calls, func(r *imagepolicyv1alpha1.ImageReview) {
		if r.APIVersion != "imagepolicy.k8s.io/v1alpha1" || r.Kind != "ImageReview" {
			t.Errorf("it was sent %+v", r.TypeMeta)
		}
		last = r.Spec
		switch r.Spec.Containers[0].Image {
		case "bad":
			r.Status = imagepolicyv1alpha1.ImageReviewStatus{Reason: "bad is not signed", AuditAnnotations: map[string]string{"signer": "none", "not valid/x": "x"}}
		case "mute":
		default:
			r.Status.Allowed = true
		}
	}))
	audited, annotated := auditAnnotations(t)
	h, virtual := startVirtual(t, audited, withImagePolicy(t, path, "allowTTL: 60, denyTTL: -1"))
	pods := h.client().CoreV1().Pods("default")

	p := withImage("a", "good")
	p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "first"}}
	p.Annotations = map[string]string{"team.image-policy.k8s.io/ticket": "17", "other": "x"}
	must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
	want := imagepolicyv1alpha1.ImageReviewSpec{
		Containers: []imagepolicyv1alpha1.ImageReviewContainerSpec{{Image: "good"}, {Image: "first"}},
		Namespace:  "default", Annotations: map[string]string{"team.image-policy.k8s.io/ticket": "17"},
	}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
	p.Name = "b"
	must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls, want 1: the answer is kept", n)
	}
	h.advance(virtual, 61*time.Second)
	p.Name = "c"
	must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2: the answer has expired", n)
	}

	calls.Store(0)
	for range 2 {
		_, err := pods.Create(h.ctx, withImage("d", "bad"), metav1.CreateOptions{})
		forbidden(t, err, "image policy webhook backend denied one or more images: bad is not signed")
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2: refusals are not kept", n)
	}
	_, err := pods.Create(h.ctx, withImage("e", "mute"), metav1.CreateOptions{})
	forbidden(t, err, "one or more images rejected by webhook backend")
	if got := annotated("imagepolicywebhook.image-policy.k8s.io/signer"); !cmp.Equal(got, []string{"none", "none"}) {
		t.Errorf("audit annotations %q", got)
	}
}

// TestImagePolicyEphemeralContainers reviews the images of ephemeral containers only, and of
// no other subresource.
func TestImagePolicyEphemeralContainers(t *testing.T) {
	var calls atomic.Int32
	path := startWebhook(t, reviewing(t, &calls, func(r *imagepolicyv1alpha1.ImageReview) {
		r.Status.Allowed = len(r.Spec.Containers) == 1 && r.Spec.Containers[0].Image != "debugger"
	}))
	h := start(t, withImagePolicy(t, path, "defaultAllow: true"))
	pods := h.client().CoreV1().Pods("default")
	made := must(pods.Create(h.ctx, withImage("a", "good"), metav1.CreateOptions{}))(t)
	made.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "d", Image: "debugger", ImagePullPolicy: corev1.PullAlways, TerminationMessagePolicy: corev1.TerminationMessageReadFile}}}
	_, err := pods.UpdateEphemeralContainers(h.ctx, "a", made, metav1.UpdateOptions{})
	forbidden(t, err, "one or more images rejected by webhook backend")
	made.Spec.EphemeralContainers = nil
	made.Status.Message = "x"
	n := calls.Load()
	if _, err := pods.UpdateStatus(h.ctx, made, metav1.UpdateOptions{}); err != nil || calls.Load() != n {
		t.Errorf("a status: %v, %d calls", err, calls.Load()-n)
	}
}

// TestImagePolicyFails has the webhook fail, with both values of defaultAllow.
func TestImagePolicyFails(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "internals", http.StatusForbidden) },
		"overloaded": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "internals", http.StatusTooManyRequests) },
		"rubbish":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("rubbish")) },
		"redirected": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			path := startWebhook(t, answer)
			closed := start(t, withImagePolicy(t, path, "defaultAllow: false"))
			_, err := closed.client().CoreV1().Pods("default").Create(closed.ctx, withImage("a", "x"), metav1.CreateOptions{})
			if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "internals") {
				t.Errorf("defaultAllow is false: %v", err)
			}
			audited, annotated := auditAnnotations(t)
			open := start(t, audited, withImagePolicy(t, path, "defaultAllow: true"))
			pods := open.client().CoreV1().Pods("default")
			must(pods.Create(open.ctx, withImage("a", "x"), metav1.CreateOptions{}))(t)
			stored := must(pods.Get(open.ctx, "a", metav1.GetOptions{}))(t)
			if stored.Annotations["alpha.image-policy.k8s.io/failed-open"] != "true" {
				t.Errorf("the pod's annotations: %v", stored.Annotations)
			}
			if got := annotated("imagepolicywebhook.image-policy.k8s.io/failed-open"); !cmp.Equal(got, []string{"true"}) {
				t.Errorf("audit annotations %q", got)
			}
		})
	}
}

func TestImagePolicyConfig(t *testing.T) {
	for name, test := range map[string]struct{ config, want string }{
		"none":          {configHead, "configuring the admission plugin ImagePolicyWebhook: no config specified"},
		"no kubeconfig": {"imagePolicy: {kubeConfigFile: /missing}\n", `imagePolicy.kubeConfigFile "/missing": stat /missing`},
		"a wrong time":  {"imagePolicy: {kubeConfigFile: x, allowTTL: 5000}\n", "imagePolicy.allowTTL is 5000"},
	} {
		t.Run(name, func(t *testing.T) {
			wantStartError(t, test.want, withPlugins("ImagePolicyWebhook"), withConfig(t, test.config))
		})
	}
}
