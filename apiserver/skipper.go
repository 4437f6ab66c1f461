package apiserver

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/services"
	"minikcm.dev/minikcm/internal/auth"
)

// newSkipper returns the Skipper, which decides which calls of Services are skipped, and reports them as events.
func (s *Server) newSkipper() *services.Skipper {
	return &services.Skipper{Resolver: s.resolver(), All: s.opts.SkipSimulated, Note: s.noteSkipped}
}

// skippedTimeout limits the writing of an event, in real time.
const skippedTimeout = 10 * time.Second

// noteSkipped writes an event of a Service whose calls are skipped. The request that needed the call waits for
// it, so that virtual time does.
func (s *Server) noteSkipped(service *corev1.Service, message string) {
	client, err := kubernetes.NewForConfig(Protobuf(s.Config("system:apiserver", auth.GroupMasters)))
	if err != nil {
		s.opts.Logger.Error(err, "Making a client for an event")
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), skippedTimeout)
	defer cancel()
	at := metav1.NewTime(s.opts.Clock.Now())
	_, err = client.CoreV1().Events(service.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: service.Namespace, GenerateName: service.Name + "."},
		InvolvedObject: corev1.ObjectReference{Kind: "Service", APIVersion: "v1", Namespace: service.Namespace, Name: service.Name, UID: service.UID},
		Type:           corev1.EventTypeWarning, Reason: "SimulatedCallSkipped", Message: message,
		Source: corev1.EventSource{Component: "apiserver"}, FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil {
		s.opts.Logger.V(1).Info("Writing an event of a Service whose calls are skipped", "service", service.Namespace+"/"+service.Name, "err", err)
	}
}
