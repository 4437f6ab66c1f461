package noderoute

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
)

// DefaultPeriod is the time between two passes by default.
const DefaultPeriod = 10 * time.Second

// flags adds the controller's flags.
func flags(fs *pflag.FlagSet, s *controller.Settings) {
	shared := &s.KubeCloudShared
	fs.BoolVar(shared.ConfigureCloudRoutes, "configure-cloud-routes", *shared.ConfigureCloudRoutes, "create routes in the cloud for the pod networks that --allocate-node-cidrs gives to nodes")
	fs.DurationVar(&shared.RouteReconciliationPeriod.Duration, "route-reconciliation-period", shared.RouteReconciliationPeriod.Duration, "interval between passes over the routes")
}

// idle returns why the controller has nothing to do; empty if it has.
func idle(e *env.Env, s *controller.Settings) string {
	shared := &s.KubeCloudShared
	switch why := cloud.Idle(e, s); {
	case why != "":
		return why
	case !shared.AllocateNodeCIDRs:
		return "there are no routes, because --allocate-node-cidrs is off"
	case !ptr.Deref(shared.ConfigureCloudRoutes, true):
		return "there are no routes, because --configure-cloud-routes is off"
	}
	return ""
}

// clusters returns the ranges of the pods' addresses.
func clusters(cidrs string) ([]netip.Prefix, error) {
	if strings.TrimSpace(cidrs) == "" {
		return nil, errors.New("--configure-cloud-routes needs --cluster-cidr")
	}
	var all []netip.Prefix
	for text := range strings.SplitSeq(cidrs, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--cluster-cidr: %w", err)
		}
		all = append(all, p.Masked())
	}
	if len(all) > 2 || len(all) == 2 && all[0].Addr().Is4() == all[1].Addr().Is4() {
		return nil, fmt.Errorf("--cluster-cidr=%s: there may be one range, or one of each IP family", cidrs)
	}
	return all, nil
}
