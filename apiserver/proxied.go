package apiserver

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// findProxied says what serves a subresource whose requests upstream hands on to a
// node or a pod. Here nothing listens there: what the nodes know is asked for in other
// ways, and the rest is refused with a reason.
func (rq *request) findProxied() verbFunc {
	switch rq.Subresource {
	case "log":
		return serveLog
	case "exec":
		return texts(serveExec)
	case "attach":
		return texts(serveAttach)
	}
	return refuseProxied
}

// refuseProxied tells a client why there is nobody to be connected with; first,
// whether there is such an object at all.
func refuseProxied(ctx context.Context, rq *request) error {
	if rq.Subresource != "proxy" { // a proxied name may carry a scheme and a port
		if _, err := rq.objects.Get(ctx, rq.key(), rq.Name); err != nil {
			return err
		}
	}
	why := "there is no network between simulated pods"
	if rq.row.Plural == "nodes" {
		why = "a simulated node runs no kubelet that listens"
	}
	return newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("%s/%s is not possible in minikcm: %s", rq.row.Plural, rq.Subresource, why))
}
