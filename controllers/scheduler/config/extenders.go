package config

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// checkExtenders refuses extenders: a cluster that ignored them would place pods where they forbid
// it.
func checkExtenders(path *field.Path, extenders []configv1.Extender) field.ErrorList {
	if len(extenders) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "HTTP extenders are not supported: remove them, or run kube-scheduler beside minikcm up --scheduler=false")}
}
