package podcertificates

import (
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

const (
	// abandonAfter is the time after which a request that does not exist counts as deleted.
	abandonAfter = 10 * time.Minute
	// overdueAfter is the time after the beginning of the refresh at which an event reports that
	// there is no new certificate.
	overdueAfter = 10 * time.Minute
)

// Credential is the key and certificate of one source. Its methods may be called concurrently.
type Credential struct {
	// Volume is the name of the volume, and Index the source's place in it.
	Volume string
	Index  int
	Source *corev1.PodCertificateProjection

	mu sync.Mutex
	// open is the request without a result; its name is empty if there is none.
	open request
	// issued is the newest certificate; its chain is nil before the first.
	issued certificate
	// refused is why the request has ended without a certificate.
	refused error
}

type request struct {
	name string
	key  []byte
	at   time.Time
}

type certificate struct {
	key, chain          []byte
	refreshAt, notAfter time.Time
	overdue, expired    bool // the event has been emitted
}

// Of returns the credentials that a pod needs, in the order of its volumes.
func Of(pod *corev1.Pod) []*Credential {
	var all []*Credential
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for index := range v.Projected.Sources {
			if source := v.Projected.Sources[index].PodCertificate; source != nil {
				all = append(all, &Credential{Volume: v.Name, Index: index, Source: source})
			}
		}
	}
	return all
}

// Open returns the name of the request without a result; empty if there is none.
func (c *Credential) Open() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open.name
}

// Due reports whether a request must be created now, and otherwise when the credential must be
// looked at again; zero if only a change of the request matters.
func (c *Credential) Due(now time.Time) (request bool, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refused != nil:
		return false, time.Time{}
	case c.issued.chain == nil:
		return c.open.name == "", time.Time{}
	case c.open.name == "":
		return !now.Before(c.issued.refreshAt), c.issued.refreshAt
	case !c.issued.overdue:
		return false, c.issued.refreshAt.Add(overdueAfter)
	case !c.issued.expired:
		return false, c.issued.notAfter
	}
	return false, time.Time{}
}

// Requested records the request that was created, and its key.
func (c *Credential) Requested(name string, key []byte, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = request{name, key, at}
}

// Missing records that the open request does not exist. It is abandoned after some time.
func (c *Credential) Missing(now time.Time) (again time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if again = c.open.at.Add(abandonAfter); now.Before(again) {
		return again
	}
	c.open = request{}
	return now
}

// Observe records the result of the open request, if it has one, and returns the event that
// reports it, if any. delay is added to the time at which the certificate is refreshed.
func (c *Credential) Observe(r *certificatesv1.PodCertificateRequest, delay time.Duration) []lifecycle.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range r.Status.Conditions {
		switch condition := &r.Status.Conditions[i]; condition.Type {
		case certificatesv1.PodCertificateRequestConditionTypeDenied:
			return c.refuseLocked(r, condition, "was denied", "denied")
		case certificatesv1.PodCertificateRequestConditionTypeFailed:
			return c.refuseLocked(r, condition, "failed", "failed")
		case certificatesv1.PodCertificateRequestConditionTypeIssued:
			c.issued = certificate{key: c.open.key, chain: cleaned(r.Status.CertificateChain)}
			if r.Status.BeginRefreshAt != nil {
				c.issued.refreshAt = r.Status.BeginRefreshAt.Add(delay)
			}
			if r.Status.NotAfter != nil {
				c.issued.notAfter = r.Status.NotAfter.Time
			}
			c.open = request{}
			return nil
		}
	}
	return nil
}

// refuseLocked ends the credential with upstream's words for the event and for the mount.
func (c *Credential) refuseLocked(r *certificatesv1.PodCertificateRequest, condition *metav1.Condition, event, mount string) []lifecycle.Event {
	c.open = request{}
	c.refused = fmt.Errorf("PodCertificateRequest was permanently %s: reason=%q message=%q", mount, condition.Reason, condition.Message)
	return []lifecycle.Event{{
		Kind: corev1.EventTypeWarning, Reason: condition.Type,
		Message: fmt.Sprintf("PodCertificateRequest %s/%s %s, reason=%q, message=%q", r.Namespace, r.Name, event, condition.Reason, condition.Message),
	}}
}

// Late returns the events about a certificate whose refresh is overdue or that has expired, once
// each.
func (c *Credential) Late(now time.Time) []lifecycle.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.issued.chain == nil || c.refused != nil {
		return nil
	}
	var events []lifecycle.Event
	if !c.issued.overdue && !now.Before(c.issued.refreshAt.Add(overdueAfter)) {
		c.issued.overdue = true
		events = append(events, lifecycle.Event{Kind: corev1.EventTypeWarning, Reason: "CertificateOverdueForRefresh", Message: "PodCertificate refresh overdue"})
	}
	if !c.issued.expired && !now.Before(c.issued.notAfter) {
		c.issued.expired = true
		events = append(events, lifecycle.Event{Kind: corev1.EventTypeWarning, Reason: "CertificateExpired", Message: "PodCertificate expired"})
	}
	return events
}

var errNotIssued = errors.New("credential bundle is not issued yet")

// Bundle returns the key and the certificate chain as PEM, or why the volume cannot be mounted.
func (c *Credential) Bundle() (key, chain []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refused != nil:
		return nil, nil, c.refused
	case c.issued.chain == nil:
		return nil, nil, errNotIssued
	}
	return c.issued.key, c.issued.chain, nil
}

// cleaned returns the certificates of a chain without headers and text between them.
func cleaned(chain string) []byte {
	out := []byte{}
	for block, rest := pem.Decode([]byte(chain)); block != nil; block, rest = pem.Decode(rest) {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	return out
}
