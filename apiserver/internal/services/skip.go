package services

import (
	"errors"
	"fmt"
	"net/url"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/webhook"
)

// AnnotationIgnoreSimulated on a Service, with the value true, skips the webhooks and APIServices that name it
// as long as it leads to simulated pods only.
const AnnotationIgnoreSimulated = "minikcm.dev/ignore-simulated"

// simulatedError is the error for a Service that leads to simulated pods only.
type simulatedError struct {
	service *corev1.Service
	// failure is the error of a call if it does not reach them, because they refuse the connection or are not ready; nil: it is not
	// known what they answer.
	failure error
	refused bool
}

func (e *simulatedError) Error() string {
	if e.failure != nil {
		return e.failure.Error()
	}
	return fmt.Sprintf("service %s/%s cannot be called: %v", e.service.Namespace, e.service.Name, errSimulated)
}

func (e *simulatedError) Unwrap() error { return errSimulated }

// Skipper decides which calls of Services are skipped because only simulated pods would answer them.
type Skipper struct {
	Resolver Resolver
	// All skips all of these calls; otherwise, only calls of Services with AnnotationIgnoreSimulated are
	// skipped.
	All bool
	// Note is called once for each Service whose calls are skipped.
	Note func(service *corev1.Service, message string)

	mu    sync.Mutex
	noted map[string]bool
}

var _ webhook.ServiceResolver = &Skipper{}

// ResolveEndpoint is Resolver's, but for a Service whose calls are skipped, or refused by its pods: its name stands for
// its address then, which nothing connects to.
func (s *Skipper) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	address, err := s.Resolver.ResolveEndpoint(namespace, name, port)
	if err == nil {
		return address, nil
	}
	var simulated *simulatedError
	if _, skip := s.Skips(err); skip || errors.As(err, &simulated) && simulated.refused {
		return nameOf(namespace, name, port), nil
	}
	return nil, err
}

// Skip reports whether the calls of a Service's port are skipped, with a warning for the API's client.
func (s *Skipper) Skip(namespace, name string, port int32) (warning string, skip bool) {
	_, err := s.Resolver.ResolveEndpoint(namespace, name, port)
	return s.Skips(err)
}

// Skips is Skip for a call that failed with the error of ResolveEndpoint.
func (s *Skipper) Skips(err error) (warning string, skip bool) {
	var simulated *simulatedError
	if !errors.As(err, &simulated) || !s.All && simulated.service.Annotations[AnnotationIgnoreSimulated] != "true" {
		return "", false
	}
	service := simulated.service
	warning = fmt.Sprintf("calls of service %s/%s are skipped: only simulated pods are behind it", service.Namespace, service.Name)
	s.note(service, warning)
	return warning, true
}

func (s *Skipper) note(service *corev1.Service, message string) {
	s.mu.Lock()
	key := string(service.UID)
	before := s.noted[key]
	if s.noted == nil {
		s.noted = map[string]bool{}
	}
	s.noted[key] = true
	s.mu.Unlock()
	if !before && s.Note != nil {
		s.Note(service, message)
	}
}
