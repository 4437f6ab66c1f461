package scenarios

import (
	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

// FaultExtension returns the extension that serves /minikcm/v1/faults, with which clients inject faults into a
// running cluster, for minikcm.APIOptions.Extensions. Faults of the API server pass over the requests of exempt
// users. They need minikcm.FaultOptions.API, and faults of etcd FaultOptions.Store.
func FaultExtension(exempt ...string) minikcm.Extension {
	return faultapi.Extension(faultapi.Options{Exempt: exempt})
}
