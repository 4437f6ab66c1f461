// Package v1 has the kinds of the API group web.example.com.
package v1
