package services

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/serviceip"
	"minikcm.dev/minikcm/apiserver/internal/storage"
)

const (
	// kubernetesName is the name of the Service by which pods find the apiserver, of its
	// endpoints, and of the default ServiceCIDR.
	kubernetesName       = "kubernetes"
	defaultServiceCIDR   = "kubernetes"
	serviceCIDRFinalizer = "networking.k8s.io/service-cidr-finalizer"
	kubernetesTargetPort = 6443
)

// Ranges returns the networks of cluster IPs.
func (s *Services) Ranges() []netip.Prefix {
	if len(s.opts.Ranges) == 0 {
		return []netip.Prefix{serviceip.DefaultRange()}
	}
	return s.opts.Ranges
}

// Bootstrap creates the default ServiceCIDR and the Service by which pods find
// the apiserver; the Service gets the first address of the ServiceCIDR.
func (s *Services) Bootstrap(ctx context.Context) error {
	if err := s.ensureServiceCIDR(ctx); err != nil {
		return fmt.Errorf("the default ServiceCIDR: %w", err)
	}
	return s.opts.Ensure(ctx, kubernetesService(s.Ranges()[0]))
}

// ensureServiceCIDR creates the default ServiceCIDR in the state in which the
// service-cidr-controller leaves it, so that the controller has nothing to do. An
// existing single-stack one is extended if the options are dual-stack and their first
// range is the existing one; any other is kept and the options have no effect, as
// upstream.
func (s *Services) ensureServiceCIDR(ctx context.Context) error {
	var cidrs []string
	for _, prefix := range s.Ranges() {
		cidrs = append(cidrs, prefix.Masked().String())
	}
	row := s.opts.Row(networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR"))
	objects := s.opts.Objects(row.GVR())
	key := objects.Key("", defaultServiceCIDR)
	wanted := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: defaultServiceCIDR, Finalizers: []string{serviceCIDRFinalizer}},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: cidrs},
	}
	if err := s.opts.Preparer.Create(row, wanted); err != nil {
		return err
	}
	s.opts.Fields.TrackOwn(row, wanted, s.opts.Preparer.Now())
	unready := wanted.DeepCopy()
	wanted.Status.Conditions = []metav1.Condition{{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes Service CIDR is ready", LastTransitionTime: s.opts.Preparer.Now(),
	}}
	s.opts.Fields.TrackAs(row, wanted, unready, "status", "kubernetes-service-cidr-controller", s.opts.Preparer.Now())
	stored, err := objects.Get(ctx, key, defaultServiceCIDR)
	if apierrors.IsNotFound(err) {
		if _, err = objects.Create(ctx, key, wanted, false); !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if cidr, ok := stored.(*networkingv1.ServiceCIDR); ok && slices.Equal(cidr.Spec.CIDRs, cidrs) {
		return nil
	}
	_, err = objects.Update(ctx, key, defaultServiceCIDR, func(current runtime.Object) (runtime.Object, error) {
		cidr, ok := current.(*networkingv1.ServiceCIDR)
		switch {
		case !ok || slices.Equal(cidr.Spec.CIDRs, cidrs):
			return current, nil
		case len(cidrs) != 2 || !slices.Equal(cidr.Spec.CIDRs, cidrs[:1]):
			s.opts.Logger.Info("The stored default ServiceCIDR differs from the configured one", "stored", cidr.Spec.CIDRs, "configured", cidrs)
			return current, nil
		}
		extended := cidr.DeepCopy()
		extended.Spec.CIDRs = cidrs
		extended.Generation++
		s.opts.Fields.TrackAs(row, extended, cidr, "", fieldmanager.ServerName, s.opts.Preparer.Now())
		return extended, nil
	}, storage.UpdateOptions{})
	return err
}

// kubernetesService returns the Service by which pods find the apiserver.
func kubernetesService(network netip.Prefix) *corev1.Service {
	ip := serviceip.ServiceIP(network)
	family := corev1.IPv4Protocol
	if ip.Is6() {
		family = corev1.IPv6Protocol
	}
	singleStack := corev1.IPFamilyPolicySingleStack
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:      kubernetesName,
			Namespace: metav1.NamespaceDefault,
			Labels:    map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			ClusterIP:       ip.String(),
			ClusterIPs:      []string{ip.String()},
			IPFamilies:      []corev1.IPFamily{family},
			IPFamilyPolicy:  &singleStack,
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports: []corev1.ServicePort{{
				Name:       "https",
				Protocol:   corev1.ProtocolTCP,
				Port:       443,
				TargetPort: intstr.FromInt32(kubernetesTargetPort),
			}},
		},
	}
}

// Repair reconciles the allocated addresses and node ports with the Services,
// and restores the endpoints of the server's own Service and the default ServiceCIDR.
func (s *Services) Repair(ctx context.Context) {
	s.Readvertise(ctx)
	if err := s.ensureServiceCIDR(ctx); err != nil && ctx.Err() == nil {
		s.opts.Logger.Error(err, "Bringing back the default ServiceCIDR")
	}
	if err := s.allocator.Repair(ctx); err != nil && ctx.Err() == nil {
		s.opts.Logger.Error(err, "Comparing addresses and node ports with the services")
	}
}
