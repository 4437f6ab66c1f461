package ctrltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// siteWebhook sets a default theme and rejects Sites without pages.
type siteWebhook struct{}

func (siteWebhook) Default(_ context.Context, s *Site) error {
	if s.Spec.Theme == "" {
		s.Spec.Theme = "plain"
	}
	return nil
}

func (siteWebhook) ValidateCreate(_ context.Context, s *Site) (admission.Warnings, error) {
	if s.Spec.Pages <= 0 {
		return nil, errors.New("a site needs a page")
	}
	return nil, nil
}

func (w siteWebhook) ValidateUpdate(ctx context.Context, _, s *Site) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, s)
}

func (siteWebhook) ValidateDelete(context.Context, *Site) (admission.Warnings, error) {
	return nil, nil
}

// siteHooks returns the webhook configurations as controller-gen writes them.
func siteHooks() envtest.WebhookInstallOptions {
	client := func(path string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "system", Name: "webhook-service", Path: ptr.To(path)}}
	}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{siteVersion.Group}, APIVersions: []string{siteVersion.Version}, Resources: []string{"sites"}},
	}}
	return envtest.WebhookInstallOptions{
		MutatingWebhooks: []*admissionv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "defaults"},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: "defaults.example.com", ClientConfig: client("/mutate-example-com-v1-site"), Rules: rules,
				SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		}},
		ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "rules"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "rules.example.com", ClientConfig: client("/validate-example-com-v1-site"), Rules: rules,
				SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		}},
	}
}

// Webhooks are served on a socket, installed by envtest. In virtual time, the API request that
// calls them stays in flight meanwhile.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
	k := defineSites(t, c)
	hooks := siteHooks()
	if err := hooks.Install(c.Config()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hooks.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	server := webhook.NewServer(webhook.Options{Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir})
	mgr := ctrltest.NewManager(t, c, ctrl.Options{Scheme: newScheme(t), WebhookServer: server})
	if err := ctrl.NewWebhookManagedBy(mgr, &Site{}).WithDefaulter(siteWebhook{}).WithValidator(siteWebhook{}).Complete(); err != nil {
		t.Fatal(err)
	}
	if err := (&sites{}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	for listens := server.StartedChecker(); listens(nil) != nil && t.Context().Err() == nil; {
		// Dial itself waits for the connection.
	}
	begin := c.Clock().Now()
	if err := k.Create(t.Context(), site("empty", 0)); err == nil || !strings.Contains(err.Error(), "a site needs a page") {
		t.Errorf("a site without pages: %v", err)
	}
	home := site("home", 2)
	if err := k.Create(t.Context(), home); err != nil || home.Spec.Theme != "plain" {
		t.Errorf("the theme is %q, %v; want plain", home.Spec.Theme, err)
	}
	if passed := c.Clock().Since(begin); passed != 0 {
		t.Errorf("%v went by", passed)
	}
	advance(t, c, time.Minute)
}
