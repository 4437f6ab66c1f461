package certgen

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// program is one run.
type program struct {
	*command
	client  kubernetes.Interface
	objects dynamic.Interface
	out     io.Writer
}

// Run runs the program with the arguments that follow its name, as the user of config, and returns
// its exit code.
func Run(ctx context.Context, config *rest.Config, args []string, out, errOut io.Writer) int {
	err := run(ctx, config, args, out)
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "minikcm-certgen: %v\n", err) // to a container's output
		return 1
	}
	return 0
}

func run(ctx context.Context, config *rest.Config, args []string, out io.Writer) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	p := &program{command: c, out: out}
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if p.objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if c.create {
		return p.createSecret(ctx)
	}
	return p.patch(ctx)
}

func (p *program) print(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...) // to a container's output
}

// createSecret stores a new certificate, unless the Secret exists and has an authority.
func (p *program) createSecret(ctx context.Context) error {
	secrets := p.client.CoreV1().Secrets(p.namespace)
	existing, err := secrets.Get(ctx, p.secret, metav1.GetOptions{})
	switch {
	case err == nil && len(existing.Data[p.caName]) > 0:
		p.print("secret/%s in namespace %s exists already", p.secret, p.namespace)
		return nil
	case err == nil:
		return fmt.Errorf("secret/%s in namespace %s exists, and has no %q: delete it", p.secret, p.namespace, p.caName)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading secret/%s: %w", p.secret, err)
	}
	made, err := issue(p.hosts)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: p.secret},
		Data:       map[string][]byte{p.caName: made.ca, p.certName: made.cert, p.keyName: made.key},
	}
	if p.certName == corev1.TLSCertKey && p.keyName == corev1.TLSPrivateKeyKey {
		secret.Type = corev1.SecretTypeTLS
	}
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating secret/%s: %w", p.secret, err)
	}
	p.print("created secret/%s in namespace %s, with a certificate for %q", p.secret, p.namespace, p.hosts)
	return nil
}

// patch writes the authority of the Secret into the objects that use the certificate.
func (p *program) patch(ctx context.Context) error {
	secret, err := p.client.CoreV1().Secrets(p.namespace).Get(ctx, p.secret, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading secret/%s: %w", p.secret, err)
	}
	ca := secret.Data[p.caName]
	if len(ca) == 0 {
		return fmt.Errorf("secret/%s in namespace %s has no %q", p.secret, p.namespace, p.caName)
	}
	if p.validating != "" {
		if err := p.patchValidating(ctx, ca); err != nil {
			return fmt.Errorf("patching validatingwebhookconfiguration/%s: %w", p.validating, err)
		}
	}
	if p.mutating != "" {
		if err := p.patchMutating(ctx, ca); err != nil {
			return fmt.Errorf("patching mutatingwebhookconfiguration/%s: %w", p.mutating, err)
		}
	}
	for _, name := range p.crds {
		conversion := map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": map[string]any{"caBundle": ca}}}
		if err := p.merge(ctx, definitions, name, map[string]any{"conversion": conversion}); err != nil {
			return err
		}
	}
	for _, name := range p.apiServices {
		if err := p.merge(ctx, apiServices, name, map[string]any{"caBundle": ca, "insecureSkipTLSVerify": false}); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) patchValidating(ctx context.Context, ca []byte) error {
	configurations := p.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	c, err := configurations.Get(ctx, p.validating, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range c.Webhooks {
		p.lead(&c.Webhooks[i].ClientConfig, &c.Webhooks[i].FailurePolicy, ca)
	}
	if _, err := configurations.Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return err
	}
	p.print("patched validatingwebhookconfiguration/%s", c.Name)
	return nil
}

func (p *program) patchMutating(ctx context.Context, ca []byte) error {
	configurations := p.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := configurations.Get(ctx, p.mutating, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range c.Webhooks {
		p.lead(&c.Webhooks[i].ClientConfig, &c.Webhooks[i].FailurePolicy, ca)
	}
	if _, err := configurations.Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return err
	}
	p.print("patched mutatingwebhookconfiguration/%s", c.Name)
	return nil
}

// lead sets the authority of a webhook and, if the command has one, its failure policy.
func (p *program) lead(client *admissionregistrationv1.WebhookClientConfig, policy **admissionregistrationv1.FailurePolicyType, ca []byte) {
	client.CABundle = ca
	if p.failurePolicy != "" {
		wanted := p.failurePolicy
		*policy = &wanted
	}
}

// merge patches the spec of an object.
func (p *program) merge(ctx context.Context, resource schema.GroupVersionResource, name string, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	if _, err := p.objects.Resource(resource).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patching %s/%s: %w", resource.Resource, name, err)
	}
	p.print("patched %s/%s", resource.Resource, name)
	return nil
}
