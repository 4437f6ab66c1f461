package noderoute

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"minikcm.dev/minikcm/controllers/internal/cloud"
)

// DefaultPeriod is the time between two passes by default.
const DefaultPeriod = 10 * time.Second

// Options configure the controller.
type Options struct {
	// Cloud is set if there is a simulated cloud, Allocate if Nodes get pod networks, and Routes if
	// the cloud gets routes for them. Without one of them the controller is idle.
	Cloud, Allocate, Routes bool
	// ClusterCIDR is the range of the pods' addresses, or one of each IP family, separated by a
	// comma.
	ClusterCIDR string
	// Period is the time between two passes; 0 means the default.
	Period time.Duration
}

// idle returns why the controller has nothing to do; empty if it has.
func (o *Options) idle() string {
	switch {
	case !o.Cloud:
		return cloud.NoCloud
	case !o.Allocate:
		return "there are no routes, because --allocate-node-cidrs is off"
	case !o.Routes:
		return "there are no routes, because --configure-cloud-routes is off"
	}
	return ""
}

// clusters returns the ranges of the pods' addresses.
func (o *Options) clusters() ([]netip.Prefix, error) {
	if strings.TrimSpace(o.ClusterCIDR) == "" {
		return nil, errors.New("--configure-cloud-routes needs --cluster-cidr")
	}
	var all []netip.Prefix
	for text := range strings.SplitSeq(o.ClusterCIDR, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--cluster-cidr: %w", err)
		}
		all = append(all, p.Masked())
	}
	if len(all) > 2 || len(all) == 2 && all[0].Addr().Is4() == all[1].Addr().Is4() {
		return nil, fmt.Errorf("--cluster-cidr=%s: there may be one range, or one of each IP family", o.ClusterCIDR)
	}
	return all, nil
}
