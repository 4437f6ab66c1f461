package serviceip

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Report is what a repair found wrong with an object, as the warning that upstream's
// repair controllers record of it.
type Report struct {
	// About is a Service or an IPAddress; it must not be changed.
	About runtime.Object
	// Component is which of upstream's controllers would tell.
	Component            string
	Reason, Action, Note string
}

func (a *Allocator) report(ctx context.Context, r Report) {
	a.config.Logger.Info("Repairing addresses and node ports of services", "found", r.Note)
	if a.config.Report != nil && a.checked { // before, the server is only starting
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

// described is an address as those warnings name it, with its family.
func described(ip netip.Addr) string { return fmt.Sprintf("[%s]: %s", familyOf(ip), ip) }
