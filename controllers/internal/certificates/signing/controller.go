package signing

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/spf13/pflag"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/certificates"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

const noKey = "There is no authority's key to sign certificates with: no certificate signing requests are answered"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "certificatesigningrequest-signing-controller", Workers: 5, Aliases: []string{"csrsigning"}, Account: "certificate-controller",
		About:   "signs approved requests for certificates",
		Watches: []string{"certificatesigningrequests"}, Writes: []string{"certificatesigningrequests/status"},
		Docs:     "reference/access-authn-authz/certificate-signing-requests/",
		Defaults: func(s *controller.Settings) { s.CSRSigningController.ClusterSigningDuration.Duration = DefaultLifetime },
		Flags:    flags,
		Idle: func(e *env.Env, s *controller.Settings) string {
			if c := &s.CSRSigningController; e.Authority == nil && c.ClusterSigningCertFile == "" && c.ClusterSigningKeyFile == "" {
				return noKey
			}
			return ""
		},
		Build: build,
	}
}

// Controller signs requests. Its keys are their names.
type Controller struct {
	client    kubernetes.Interface
	authority *tls.Certificate
	issuer    *x509.Certificate
	longest   time.Duration
	clock     clock.Clock
	// machine is the clock by which certificates are verified.
	machine clock.Clock
}

func build(p *controller.Parts) error {
	authority, s := p.Authority, &p.Settings.CSRSigningController
	if s.ClusterSigningCertFile != "" || s.ClusterSigningKeyFile != "" {
		read, err := tls.LoadX509KeyPair(s.ClusterSigningCertFile, s.ClusterSigningKeyFile)
		if err != nil {
			return fmt.Errorf("reading the authority that signs certificates: %w", err)
		}
		authority = &read
	}
	issuer, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		return fmt.Errorf("reading the certificate of the authority: %w", err)
	}
	requests := p.Informers.CertificateSigningRequests()
	c := &Controller{
		client: p.Client, authority: authority, issuer: issuer,
		longest: cmp.Or(s.ClusterSigningDuration.Duration, DefaultLifetime), clock: p.Clock, machine: clock.Real(),
	}
	l := p.Loop(controller.Each(requests.Informer(), c.reconcile))
	l.Watch(requests.Informer(), loop.Present)
	return nil
}

func flags(fs *pflag.FlagSet, s *controller.Settings) {
	c := &s.CSRSigningController
	fs.StringVar(&c.ClusterSigningCertFile, "cluster-signing-cert-file", c.ClusterSigningCertFile, "file of the certificate, in PEM, of the authority that signs requests")
	fs.StringVar(&c.ClusterSigningKeyFile, "cluster-signing-key-file", c.ClusterSigningKeyFile, "file of that authority's private key, in PEM")
	fs.DurationVar(&c.ClusterSigningDuration.Duration, "cluster-signing-duration", c.ClusterSigningDuration.Duration, "how long a certificate lasts at most")
}

// reconcile issues the certificate of the request, or fails the request with a reason.
func (c *Controller) reconcile(ctx context.Context, request *certificatesv1.CertificateSigningRequest) (loop.Result, error) {
	var parsed *x509.CertificateRequest
	action, why := Decide(request, func() (*x509.CertificateRequest, error) {
		var err error
		parsed, err = certificates.Parse(request)
		return parsed, err
	})
	answered := request.DeepCopy()
	switch action {
	case Sign:
		var err error
		if answered.Status.Certificate, err = c.sign(parsed, request); err != nil {
			return loop.Result{}, fmt.Errorf("signing the certificate of request %s: %w", request.Name, err)
		}
	case Fail:
		answered.Status.Conditions = append(answered.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure", Message: why.Error(),
			LastUpdateTime: metav1.NewTime(c.clock.Now()),
		})
	default:
		return loop.Result{}, why
	}
	_, err := c.client.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, answered, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return loop.Result{}, fmt.Errorf("answering certificate signing request %s: %w", request.Name, err)
	}
	return loop.Result{}, nil
}

func (c *Controller) sign(parsed *x509.CertificateRequest, request *certificatesv1.CertificateSigningRequest) ([]byte, error) {
	if err := parsed.CheckSignature(); err != nil {
		return nil, fmt.Errorf("verifying the signature of the request: %w", err)
	}
	template, err := Template(parsed, request.Spec.Usages, Lifetime(request.Spec.ExpirationSeconds, c.longest), c.machine.Now(), c.issuer.NotAfter)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128)); err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.issuer, parsed.PublicKey, c.authority.PrivateKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
