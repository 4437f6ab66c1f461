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

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/certificates"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "certificatesigningrequest-signing-controller"

const workers = 5

const noKey = "There is no authority's key to sign certificates with: no certificate signing requests are answered"

// Options configure the authority.
type Options struct {
	// CertFile and KeyFile are the authority's, in PEM; empty: the environment's authority.
	CertFile, KeyFile string
	// Longest caps the lifetime of a certificate; 0: DefaultLifetime.
	Longest time.Duration
}

// Controller signs requests. Its keys are their names.
type Controller struct {
	loop.Runner
	client    kubernetes.Interface
	requests  certificateslisters.CertificateSigningRequestLister
	authority *tls.Certificate
	issuer    *x509.Certificate
	longest   time.Duration
	clock     clock.Clock
	// machine is the clock by which certificates are verified.
	machine clock.Clock
}

// New returns a controller. Run starts it. New fails if the named files cannot be used.
func New(_ context.Context, e *env.Env, opts Options) (*Controller, error) {
	authority := e.Authority
	if opts.CertFile != "" || opts.KeyFile != "" {
		read, err := tls.LoadX509KeyPair(opts.CertFile, opts.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the authority that signs certificates: %w", err)
		}
		authority = &read
	}
	if authority == nil {
		return &Controller{Runner: loop.Idles(e.Logger, Name, noKey)}, nil
	}
	issuer, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the authority: %w", err)
	}
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	requests := e.Informers.CertificateSigningRequests()
	c := &Controller{
		client: client, requests: requests.Lister(), authority: authority, issuer: issuer,
		longest: cmp.Or(opts.Longest, DefaultLifetime), clock: e.Clock, machine: clock.Real(),
	}
	l := loop.New(e.Loop(Name, workers), c)
	l.Watch(requests.Informer(), certificates.Wake)
	c.Runner = loop.Runs(l)
	return c, nil
}

// Reconcile issues the certificate of the request, or fails the request with a reason.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	request, err := c.requests.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting certificate signing request %s: %w", key.Name, err)
	}
	var parsed *x509.CertificateRequest
	action, why := Decide(request, func() (*x509.CertificateRequest, error) {
		var err error
		parsed, err = certificates.Parse(request)
		return parsed, err
	})
	answered := request.DeepCopy()
	switch action {
	case Sign:
		if answered.Status.Certificate, err = c.sign(parsed, request); err != nil {
			return loop.Result{}, fmt.Errorf("signing the certificate of request %s: %w", key.Name, err)
		}
	case Fail:
		answered.Status.Conditions = append(answered.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure", Message: why.Error(),
			LastUpdateTime: metav1.NewTime(c.clock.Now()),
		})
	default:
		return loop.Result{}, why
	}
	_, err = c.client.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, answered, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return loop.Result{}, fmt.Errorf("answering certificate signing request %s: %w", key.Name, err)
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
