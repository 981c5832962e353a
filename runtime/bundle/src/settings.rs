//! Settings that content may carry: spec 3's `config.yaml` as plain values. Contains only what
//! content may change (matching) or restrict (limits, scripts, refresh); runners and endpoints are
//! set by the operator.

use skillbundle_search::ranker::MIN_MARGIN;

/// Settings compiled into a bundle. [`Default`] is spec 3 §11.2.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Matches below this score are left out (0.0 to 1.0).
    pub min_score: f64,
    /// Maximum number of candidates listed when a match is ambiguous.
    pub max_results: u32,
    /// If the two best scores are closer than this, the match is ambiguous (0.0 to 1.0).
    pub ambiguity_threshold: f64,
    /// Confidence below which the ranker of the folder dialect finds nothing. The default depends
    /// on the number of skills.
    pub min_confidence: Option<f64>,
    /// The minimum relative lead of that ranker's best skill; below it the match is ambiguous (0.0
    /// to 1.0).
    pub min_margin: f64,
    /// Whether the content requests periodic refresh.
    pub refresh_enabled: bool,
    /// The refresh interval, in minutes.
    pub refresh_interval_minutes: u32,
    /// False forbids every script of this bundle.
    pub scripts_enabled: bool,
    /// Maximum run time of a script, in seconds.
    pub script_timeout_seconds: u32,
    /// Maximum bytes kept of a script's stdout and of its stderr.
    pub script_max_output_bytes: u64,
    /// Allowed extensions of scripts, with the dot.
    pub script_extensions: Vec<String>,
    /// Maximum size of a file served by `get_asset`, in bytes.
    pub asset_max_bytes: u64,
    /// Maximum size of a text file shown inline, in bytes.
    pub asset_inline_max_bytes: u64,
}

impl Settings {
    /// Takes every limit of `other` that is narrower. Matching settings are unchanged.
    pub(crate) fn narrow_to(&mut self, other: &Self) {
        self.scripts_enabled &= other.scripts_enabled;
        self.script_timeout_seconds = self
            .script_timeout_seconds
            .min(other.script_timeout_seconds);
        self.script_max_output_bytes = self
            .script_max_output_bytes
            .min(other.script_max_output_bytes);
        self.script_extensions
            .retain(|extension| other.script_extensions.contains(extension));
        self.asset_max_bytes = self.asset_max_bytes.min(other.asset_max_bytes);
        self.asset_inline_max_bytes = self
            .asset_inline_max_bytes
            .min(other.asset_inline_max_bytes);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_score: 0.2,
            max_results: 3,
            ambiguity_threshold: 0.1,
            min_confidence: None,
            min_margin: MIN_MARGIN,
            refresh_enabled: true,
            refresh_interval_minutes: 15,
            scripts_enabled: true,
            script_timeout_seconds: 60,
            script_max_output_bytes: 1_048_576,
            script_extensions: [".sh", ".ts", ".js", ".py"].map(str::to_owned).to_vec(),
            asset_max_bytes: 1_048_576,
            asset_inline_max_bytes: 10_240,
        }
    }
}
