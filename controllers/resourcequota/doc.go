// Package resourcequota keeps the status of ResourceQuotas: what a namespace uses of
// each limit, counted again whenever something may have been given back, and every
// five minutes. What is taken the apiserver counts itself as it admits it.
package resourcequota
