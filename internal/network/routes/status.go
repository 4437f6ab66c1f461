package routes

import "strconv"

// The statuses of routers' own answers.
const (
	StatusInternalError      = 500
	StatusNotFound           = 404
	StatusMisdirected        = 421
	StatusBadGateway         = 502
	StatusServiceUnavailable = 503
	StatusGatewayTimeout     = 504
)

// StatusText returns a status with its name.
func StatusText(status int) string {
	names := map[int]string{
		StatusInternalError: "Internal Server Error", StatusNotFound: "Not Found", StatusMisdirected: "Misdirected Request", StatusBadGateway: "Bad Gateway", StatusServiceUnavailable: "Service Unavailable",
		StatusGatewayTimeout: "Gateway Timeout",
	}
	return strconv.Itoa(status) + " " + names[status]
}
