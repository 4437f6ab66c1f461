package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// warnings collects the API's warnings.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.text = nil }()
	return w.text
}

// installSimulatedWebhook installs the objects of an ingress controller's chart: a Deployment, its Service, and a
// webhook that validates Ingresses and refuses them if it fails.
func installSimulatedWebhook(t *testing.T, c *minikcmtest.Cluster) {
	t.Helper()
	labels := map[string]string{"app": "ingress"}
	client := c.Client()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "ingress"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "ingress"}}}},
	}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "admission"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 443}}}}
	webhook := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "admission"}, Webhooks: []registrationv1.ValidatingWebhook{{
		Name: "validate.ingress.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(registrationv1.SideEffectClassNone), FailurePolicy: ptr.To(registrationv1.Fail),
		ClientConfig: registrationv1.WebhookClientConfig{Service: &registrationv1.ServiceReference{Namespace: "default", Name: "admission"}},
		Rules: []registrationv1.RuleWithOperations{{
			Operations: []registrationv1.OperationType{registrationv1.Create},
			Rule:       registrationv1.Rule{APIGroups: []string{"networking.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"ingresses"}},
		}},
	}}}
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{})
	if err == nil {
		_, err = client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), webhook, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("the Service to have an endpoint", func(ctx context.Context, client kubernetes.Interface) error {
		found, err := client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=admission"})
		if err == nil && (len(found.Items) == 0 || len(found.Items[0].Endpoints) == 0 || !ptr.Deref(found.Items[0].Endpoints[0].Conditions.Ready, false)) {
			err = fmt.Errorf("it has none: %v", found.Items)
		}
		return err
	})
}

// TestSimulatedWebhooks checks a webhook that only simulated pods serve: it refuses the objects that it selects,
// unless the cluster or its Service is set to skip it.
func TestSimulatedWebhooks(t *testing.T) {
	t.Parallel()
	const warning = "calls of service default/admission are skipped: only simulated pods are behind it"
	for name, options := range map[string][]minikcmtest.Option{"by annotation": nil, "all": {minikcmtest.WithSimulatedWebhooksIgnored()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, options...)
			installSimulatedWebhook(t, c)
			config := rest.CopyConfig(c.Config())
			warned := &warnings{}
			config.WarningHandler = warned
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			create := func(name string) error {
				backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
				_, err := client.NetworkingV1().Ingresses("default").Create(t.Context(), &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressSpec{DefaultBackend: backend}}, metav1.CreateOptions{})
				return err
			}
			if options == nil {
				if err := create("refused"); err == nil || !strings.Contains(err.Error(), `failed calling webhook "validate.ingress.example.com"`) || !strings.Contains(err.Error(), "minikcm.dev/ignore-simulated") {
					t.Errorf("without an opt-in: %v", err)
				}
				if got := warned.take(); len(got) > 0 {
					t.Errorf("it warns: %q", got)
				}
				patch := []byte(`{"metadata":{"annotations":{"minikcm.dev/ignore-simulated":"true"}}}`)
				if _, err := c.Client().CoreV1().Services("default").Patch(t.Context(), "admission", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"first", "second"} {
				if err := create(name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if got := warned.take(); !slices.Contains(got, warning) {
					t.Errorf("%s: the warnings are %q", name, got)
				}
			}
			c.EventuallyEvent("default", "Service", "Warning SimulatedCallSkipped "+warning)
		})
	}
}
