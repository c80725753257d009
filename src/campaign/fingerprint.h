/* What computed a result: cached ones are used only by the very model that made them. */
#ifndef CORUN_CAMPAIGN_FINGERPRINT_H
#define CORUN_CAMPAIGN_FINGERPRINT_H

/* A hash, in hexadecimal, over the sources of PTX front end, executor and simulated GPU. The build defines it. */
const char *model_fingerprint(void);

#endif
