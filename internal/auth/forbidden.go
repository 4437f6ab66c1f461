package auth

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Forbidden returns upstream's error for a request that is not allowed. reason may be
// empty.
func Forbidden(a Attributes, reason string) error {
	what := fmt.Sprintf("path %q", a.Path)
	if a.Resource {
		resource := a.Plural
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		where := "at the cluster scope"
		if a.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", a.Namespace)
		}
		what = fmt.Sprintf("resource %q in API group %q %s", resource, a.Group, where)
	}
	// Escape HTML, because a browser may display the message.
	message := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(fmt.Sprintf("User %q cannot %s %s", a.User.Name, a.Verb, what))
	if reason != "" {
		message += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Plural}, a.Name, errors.New(message))
}
