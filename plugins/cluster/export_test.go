package cluster

// ErrTooDeep is for the tests outside the package.
var ErrTooDeep = errTooDeep
