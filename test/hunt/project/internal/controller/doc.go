// Package controller reconciles sites.
package controller
