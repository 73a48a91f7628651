// Package feature has the names of server features in bootstrap configurations.
package feature

// The server features of the gRFCs, and of this project.
const (
	// XDSV3 means that the server speaks xDS v3 (gRFC A30). No other version is supported.
	XDSV3 = "xds_v3"
	// IgnoreResourceDeletion keeps resources that the server deletes (A53). A88 makes that
	// the default, so the feature has no effect.
	IgnoreResourceDeletion = "ignore_resource_deletion"
	// TrustedXDSServer lets the server configure security, such as authority rewriting
	// (A81).
	TrustedXDSServer = "trusted_xds_server"
	// FailOnDataErrors drops cached resources on data errors (A88).
	FailOnDataErrors = "fail_on_data_errors"
	// ResourceTimerIsTransientError makes the resource timer 30 s long, and its expiry a
	// transient error (A88).
	ResourceTimerIsTransientError = "resource_timer_is_transient_error"
	// ResourceTimerIsTransientFailure is a second spelling of
	// ResourceTimerIsTransientError, used in one place of A88. Both are the same feature.
	ResourceTimerIsTransientFailure = "resource_timer_is_transient_failure"
	// TransportDelta means that the server speaks the incremental variant of the xDS
	// transport protocol. The name is this project's.
	TransportDelta = "xds.transport.delta"
	// TransportAuto tries the incremental variant. If the server does not support it, the
	// client falls back to state of the world. The name is this project's.
	TransportAuto = "xds.transport.auto"
	// ResourceErrors is a client feature: an error of xRFC TP3 in the place of a resource keeps the resource in use, also in
	// state-of-the-world responses that lack it. The name is this project's.
	ResourceErrors = "xds.config.supports-resource-errors"
)
