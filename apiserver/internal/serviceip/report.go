package serviceip

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Report is a finding of a repair about an object, in the form of the event that
// upstream's repair controllers record.
type Report struct {
	// About is a Service or an IPAddress; it must not be modified.
	About runtime.Object
	// Component is upstream's controller that reports this.
	Component            string
	Reason, Action, Note string
}

func (a *Allocator) report(ctx context.Context, r Report) {
	a.config.Logger.Info("Repairing addresses and node ports of services", "found", r.Note)
	if a.config.Report != nil && a.checked { // not during the check at start
		a.config.Report(ctx, r)
	}
}

func (a *Allocator) reportIP(ctx context.Context, about runtime.Object, reason, format string, args ...any) {
	action := "ClusterIPAllocation"
	if _, isService := about.(*corev1.Service); !isService {
		action = "IPAddressAllocation"
	}
	a.report(ctx, Report{About: about, Component: "ipallocator-repair-controller", Reason: reason, Action: action, Note: fmt.Sprintf(format, args...)})
}

func (a *Allocator) reportPort(ctx context.Context, svc *corev1.Service, reason, format string, args ...any) {
	a.report(ctx, Report{About: svc, Component: "portallocator-repair-controller", Reason: reason, Action: "PortAllocation", Note: fmt.Sprintf(format, args...)})
}

// described returns an address in upstream's notation, with its family.
func described(ip netip.Addr) string { return fmt.Sprintf("[%s]: %s", familyOf(ip), ip) }
